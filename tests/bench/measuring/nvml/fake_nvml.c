/* A libnvidia-ml.so.1 that answers from a transcript: the text file named by NVML_TRANSCRIPT.
 *
 * Each line holds a device, a question and its answers: "0 name NVIDIA A2". A device is the index of a GPU, or "0.1" for
 * instance 1 of GPU 0 in MIG mode, or "*" for the machine. Of several answers, each call gets the next, and after the
 * last one the first again. A question without a line is not supported, as on a device that lacks it. Handles, buffers
 * and errors are those of NVML's documentation: a UUID must be whole, and processes are asked twice.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { MOST = 256, WIDTH = 512 };

struct line { char device[16], question[32], answer[WIDTH]; int next; };
struct process { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; };
typedef char device; /* a handle points to the name of its device */

static struct line lines[MOST];
static int count = -1;

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    FILE *file = fopen(getenv("NVML_TRANSCRIPT"), "r");
    char text[WIDTH];
    if (!file) return NOT_FOUND;
    for (count = 0; count < MOST && fgets(text, sizeof text, file);)
        if (*text != '#' && sscanf(text, "%15s %31s %511[^\n]", lines[count].device, lines[count].question,
                                   lines[count].answer) == 3)
            count++;
    fclose(file);
    return SUCCESS;
}

const char *nvmlErrorString(int error) {
    return error == NOT_SUPPORTED ? "Not Supported" : "error of the transcript";
}

static int find(const device *of, const char *question, struct line **found) {
    if (count < 0) return UNINITIALIZED;
    if (!of) return INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        if (!strcmp(lines[i].device, of) && !strcmp(lines[i].question, question)) {
            *found = &lines[i];
            return SUCCESS;
        }
    return NOT_SUPPORTED;
}

static int number(const device *of, const char *question, unsigned long long *value) {
    struct line *line;
    int error = find(of, question, &line), words = 0;
    char copy[WIDTH], *word[WIDTH];
    if (error) return error;
    strcpy(copy, line->answer);
    for (char *each = strtok(copy, " "); each; each = strtok(NULL, " ")) word[words++] = each;
    *value = strtoull(word[line->next++ % words], NULL, 0);
    return SUCCESS;
}

static int small(const device *of, const char *question, unsigned *value) {
    unsigned long long wide = 0;
    int error = number(of, question, &wide);
    if (!error) *value = (unsigned)wide;
    return error;
}

static int text(const device *of, const char *question, char *buffer, unsigned size) {
    struct line *line;
    int error = find(of, question, &line);
    if (error) return error;
    if (strlen(line->answer) >= size) return INSUFFICIENT_SIZE;
    strcpy(buffer, line->answer);
    return SUCCESS;
}

/* The handle of the device of which `question` has this answer, or of which this is the name. */
static int handle(const char *question, const char *wanted, const device **found) {
    if (count < 0) return UNINITIALIZED;
    for (int i = 0; i < count; i++)
        if (!strcmp(lines[i].question, "uuid") && !strcmp(question ? lines[i].answer : lines[i].device, wanted)) {
            *found = lines[i].device;
            return SUCCESS;
        }
    return NOT_FOUND;
}

int nvmlSystemGetDriverVersion(char *buffer, unsigned size) { return text("*", "driver", buffer, size); }
int nvmlDeviceGetCount_v2(unsigned *value) { return small("*", "count", value); }
int nvmlDeviceGetHandleByUUID(const char *uuid, const device **found) { return handle("uuid", uuid, found); }
int nvmlDeviceGetName(const device *of, char *buffer, unsigned size) { return text(of, "name", buffer, size); }
int nvmlDeviceGetUUID(const device *of, char *buffer, unsigned size) { return text(of, "uuid", buffer, size); }
int nvmlDeviceGetPersistenceMode(const device *of, unsigned *value) { return small(of, "persistence", value); }
int nvmlDeviceGetPowerManagementLimit(const device *of, unsigned *value) { return small(of, "limit", value); }
int nvmlDeviceGetPowerManagementDefaultLimit(const device *of, unsigned *value) { return small(of, "usual", value); }
int nvmlDeviceGetMaxMigDeviceCount(const device *of, unsigned *value) { return small(of, "instances", value); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, const device **found) {
    char name[16];
    snprintf(name, sizeof name, "%u", index);
    return handle(NULL, name, found) ? INVALID_ARGUMENT : SUCCESS;
}

int nvmlDeviceGetMigMode(const device *of, unsigned *current, unsigned *pending) {
    int error = small(of, "mig", current);
    *pending = *current;
    return error;
}

int nvmlDeviceGetMigDeviceHandleByIndex(const device *of, unsigned index, const device **found) {
    char name[16];
    snprintf(name, sizeof name, "%.8s.%u", of, index);
    return handle(NULL, name, found);
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const device *of, const device **found) {
    char name[16];
    snprintf(name, sizeof name, "%s", of);
    if (!strchr(name, '.')) return INVALID_ARGUMENT;
    *strchr(name, '.') = 0;
    return handle(NULL, name, found);
}

int nvmlDeviceGetClockInfo(const device *of, int kind, unsigned *value) {
    return kind == 1 ? small(of, "clock", value) : INVALID_ARGUMENT;
}

int nvmlDeviceGetTemperature(const device *of, int sensor, unsigned *value) {
    return sensor == 0 ? small(of, "temperature", value) : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const device *of, unsigned long long *value) {
    return number(of, "reasons", value);
}

/* The answer lists process ids; "self" is the caller, "parent" what started it, and "none" nobody. */
static unsigned pid_of(const char *name) {
    return (unsigned)(!strcmp(name, "self") ? getpid() : !strcmp(name, "parent") ? getppid() : atoi(name));
}

int nvmlDeviceGetComputeRunningProcesses_v3(const device *of, unsigned *size, struct process *infos) {
    struct line *line;
    unsigned given = *size;
    char copy[WIDTH];
    int error = find(of, "processes", &line);
    if (error) return error;
    strcpy(copy, line->answer);
    *size = 0;
    for (char *each = strtok(copy, " "); each; each = strtok(NULL, " ")) {
        if (!strcmp(each, "none")) continue;
        if (infos && *size < given)
            infos[*size] = (struct process){.pid = pid_of(each)};
        ++*size;
    }
    return *size > given ? INSUFFICIENT_SIZE : SUCCESS;
}
