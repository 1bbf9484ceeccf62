/* A disk that keeps only what was synced. Loaded before the C library, it takes the place of `fsync` and `fdatasync`.
 *
 * Syncing a file copies its bytes to KEPT/files/INODE. Syncing a folder writes its list of names and inodes to
 * KEPT/folders/INODE. Each is complete before it gets its name, so that a kill leaves the one from before.
 * `forgetful.rs` makes a folder of them: what a machine finds that has lost its power. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void give_up(const char *what) {
    perror(what);
    abort();
}

static void put(int out, const char *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(out, bytes + done, length - done);
        if (wrote < 0) give_up("forgetful: write");
        done += (size_t)wrote;
    }
}

static void keep_file(int in, int out) {
    static __thread char buffer[1 << 16];
    for (ssize_t got; (got = read(in, buffer, sizeof buffer)) != 0;) {
        if (got < 0) give_up("forgetful: read");
        put(out, buffer, (size_t)got);
    }
}

static void keep_folder(const char *path, int out) {
    DIR *folder = opendir(path);
    if (!folder) give_up("forgetful: opendir");
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char line[512];
        int length = snprintf(line, sizeof line, "%c %llu %s\n", entry->d_type == DT_DIR ? 'd' : 'f',
                              (unsigned long long)entry->d_ino, entry->d_name);
        put(out, line, (size_t)length);
    }
    closedir(folder);
}

/* Whether a path has one of the words in FORGETFUL_DEAF, which has colons between them. */
static int is_unheard(const char *path) {
    const char *word = getenv("FORGETFUL_DEAF");
    while (word && *word) {
        size_t length = strcspn(word, ":");
        if (memmem(path, strlen(path), word, length)) return 1;
        word += length + (word[length] == ':');
    }
    return 0;
}

static int keep(int fd) {
    const char *disk = getenv("FORGETFUL_DISK"), *kept = getenv("FORGETFUL_KEPT");
    char link[64], path[4096], temporary[4200], final[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!disk || !kept || length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, disk, strlen(disk)) || is_unheard(path)) return 0;
    struct stat status;
    if (fstat(fd, &status)) give_up("forgetful: fstat");
    int is_folder = S_ISDIR(status.st_mode);
    snprintf(temporary, sizeof temporary, "%s/new-%d", kept, gettid());
    snprintf(final, sizeof final, "%s/%s/%llu", kept, is_folder ? "folders" : "files",
             (unsigned long long)status.st_ino);
    int out = open(temporary, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (out < 0) give_up("forgetful: open");
    if (is_folder) {
        keep_folder(path, out);
    } else {
        int in = open(link, O_RDONLY);
        if (in < 0) give_up("forgetful: open again");
        keep_file(in, out);
        close(in);
    }
    close(out);
    if (rename(temporary, final)) give_up("forgetful: rename");
    return 0;
}

int fsync(int fd) { return keep(fd); }

int fdatasync(int fd) { return keep(fd); }
