/* The disk of a process that is started with this (LD_PRELOAD), of tools/chaos.
 *
 * While the file $DISTURBED_DISK/slow is there, each write and sync of a file of a server's log or snapshot takes so
 * many milliseconds more as that says. What the process removes of its log is moved to $DISTURBED_DISK/kept, or to
 * $DISTURBED_DISK/again where one of that name is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_log(const char* path) {
  const char* name = strrchr(path, '/');
  return name != NULL && strncmp(name, "/log-", 5) == 0;
}

/* A log, or a snapshot. */
static int is_of_server(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return strstr(path, ".weir") != NULL;
}

static int find(const char* name, const char* rest, char* path, size_t size) {
  const char* folder = getenv("DISTURBED_DISK");
  if (folder == NULL) return 0;
  return snprintf(path, size, "%s/%s%s", folder, name, rest) < (int)size;
}

static void wait_if_slow(int file) {
  char path[4096];
  int ms = 0;
  if (!find("slow", "", path, sizeof(path)) || access(path, R_OK) != 0 || !is_of_server(file)) return;
  FILE* said = fopen(path, "re");
  if (said == NULL) return;
  if (fscanf(said, "%d", &ms) != 1) ms = 0;
  fclose(said);
  const struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&wait, NULL);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  static ssize_t (*next)(int, const struct iovec*, int);
  if (next == NULL) next = (ssize_t(*)(int, const struct iovec*, int))dlsym(RTLD_NEXT, "writev");
  wait_if_slow(file);
  return next(file, parts, count);
}

int fdatasync(int file) {
  static int (*next)(int);
  if (next == NULL) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_if_slow(file);
  return next(file);
}

int remove(const char* path) {
  static int (*next)(const char*);
  char kept[4096];
  if (next == NULL) next = (int (*)(const char*))dlsym(RTLD_NEXT, "remove");
  if (is_log(path) && find("kept", strrchr(path, '/'), kept, sizeof(kept))) {
    if (renameat2(AT_FDCWD, path, AT_FDCWD, kept, RENAME_NOREPLACE) == 0) return 0;
    if (find("again", strrchr(path, '/'), kept, sizeof(kept)) && rename(path, kept) == 0) return 0;
  }
  return next(path);
}
