# ruff: noqa: INP001 - a script beside what it draws
"""Draw `scene.png`, the one image that every model is given: 640×480, made by code, free of any licence.

A landscape with a sun, a house, trees and a fence: smooth gradients, sharp edges and fine stripes. Latency does not
depend on what an image shows; the size does matter.

    python bench/assets/draw_scene.py
"""

from pathlib import Path

from PIL import Image, ImageDraw

WIDTH, HEIGHT, HORIZON = 640, 480, 300


def draw() -> Image.Image:
    """The scene, an RGB image."""
    scene = Image.new("RGB", (WIDTH, HEIGHT))
    pen = ImageDraw.Draw(scene)
    for y in range(HORIZON):
        pen.line((0, y, WIDTH, y), fill=(90 + y // 3, 150 + y // 4, 235 - y // 10))
    for y in range(HORIZON, HEIGHT):
        pen.line((0, y, WIDTH, y), fill=(70 - (y - HORIZON) // 6, 150 - (y - HORIZON) // 3, 60))
    pen.ellipse((500, 40, 580, 120), fill=(255, 221, 110))
    pen.polygon(((0, 300), (130, 170), (260, 300)), fill=(96, 112, 140))
    pen.polygon(((160, 300), (330, 130), (500, 300)), fill=(118, 132, 158))
    pen.rectangle((250, 250, 410, 370), fill=(214, 178, 140))
    pen.polygon(((230, 250), (330, 180), (430, 250)), fill=(168, 68, 56))
    pen.rectangle((312, 300, 348, 370), fill=(92, 60, 44))
    for left in (268, 368):
        pen.rectangle((left, 276, left + 28, 304), fill=(188, 224, 240), outline=(60, 60, 60), width=3)
    for x, y, size in ((70, 320, 60), (520, 330, 74), (590, 350, 54)):
        pen.rectangle((x - 6, y, x + 6, y + size), fill=(92, 66, 40))
        pen.ellipse((x - size // 2, y - size, x + size // 2, y + 12), fill=(34, 108, 52))
    for x in range(0, WIDTH, 16):
        pen.rectangle((x, 410, x + 7, 462), fill=(236, 232, 220))
    pen.rectangle((0, 424, WIDTH, 430), fill=(226, 220, 206))
    return scene


if __name__ == "__main__":
    draw().save(Path(__file__).with_name("scene.png"), optimize=True)
