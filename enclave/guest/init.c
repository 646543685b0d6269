/*
 * The guest's first process. It mounts what the program needs, loads the modules of /etc/modules, closes the kernel behind
 * itself, hands one port of the host to the program of /etc/enclave.argv as descriptor 3, and powers the machine off when the
 * session is over or anything fails. Nothing that the host passes decides what it does. Failures are one line of JSON each.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "root.h"
#include "words.h"

enum { list_bytes = 4096, words_most = 32, console_bytes = 4096, relay_bytes = 65536 };
enum { port_ms = 10000, disk_ms = 10000, end_ms = 5000, drain_ms = 2000, look_ms = 20 };
static const char channel_name[] = "org.veritrain.channel\n";

/* Shared with the relays: whether the program has answered the host. From then on the console passes none of its words. */
static volatile int *answered;

static void pause_ms(long ms) {
  struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
  nanosleep(&left, NULL);
}

static int write_all(int to, const char *bytes, long length) {
  while (length > 0) {
    long written = write(to, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return -1;
    bytes += written;
    length -= written;
  }
  return 0;
}

static void say(const char *code, const char *what, int number) {
  char line[256];
  int length = snprintf(line, sizeof line, "{\"init\":\"%s\",\"what\":\"%s\",\"number\":%d}\n", code, what, number);
  write_all(1, line, length < (int)sizeof line ? length : (int)sizeof line - 1);
}

/* Without ACPI there is no way to switch off, and a halted machine stays: it is reset, and its host was told not to start it again. */
static void power_off(void) {
  sync();
  reboot(access("/sys/firmware/acpi", F_OK) == 0 ? RB_POWER_OFF : RB_AUTOBOOT);
  for (;;) pause();
}

static void fail(const char *code, const char *what) {
  say(code, what, errno);
  power_off();
}

static void mount_at(const char *type, const char *at, unsigned long flags, const char *data) {
  if (mkdir(at, 0755) < 0 && errno != EEXIST && errno != EROFS && errno != EPERM) fail("INIT_MOUNT", at);
  if (mount(type, at, type, flags, data) < 0) fail("INIT_MOUNT", at);
}

static void set_kernel(const char *path) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write_all(file, "1\n", 2) < 0) fail("INIT_SYSCTL", path);
  close(file);
}

/* Words of a measured file; the text lives as long as the process. */
static int words_of(const char *path, char *text, char **words) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("INIT_FILE", path);
  long length = 0, got = 0;
  while (length < list_bytes && (got = read(file, text + length, list_bytes - length)) > 0) length += got;
  if (got < 0 || length == list_bytes) fail("INIT_FILE", path);
  close(file);
  int count = read_words(text, length, words, words_most);
  errno = EINVAL;
  if (count < 0) fail("INIT_WORDS", path);
  return count;
}

static void load_modules(void) {
  static char text[list_bytes];
  char *paths[words_most];
  int count = words_of("/etc/modules", text, paths);
  for (int index = 0; index < count; index++) {
    errno = EINVAL;
    if (!is_plain_path(paths[index])) fail("INIT_MODULE", "/etc/modules");
    int file = open(paths[index], O_RDONLY | O_CLOEXEC);
    if (file < 0) fail("INIT_MODULE", paths[index]);
    if (syscall(SYS_finit_module, file, "", 0) < 0) {
      /* The device of this module is absent: the attester finds no source of evidence, and refuses. */
      if (errno == ENODEV) say("INIT_NO_DEVICE", paths[index], errno);
      else fail("INIT_MODULE", paths[index]);
    }
    close(file);
  }
}

/* struct dm_ioctl and struct dm_target_spec of linux/dm-ioctl.h, with room for one target's words. */
struct dm_request {
  unsigned version[3], size, start, targets;
  int opened;
  unsigned flags, event, padding;
  unsigned long long device;
  char name[128], uuid[129], rest[7];
  unsigned long long sector, sectors;
  int status;
  unsigned next;
  char type[16], words[256];
};
enum { dm_create = 0xc138fd03, dm_load = 0xc138fd09, dm_resume = 0xc138fd06, dm_read_only = 1 };

static void ask_dm(int control, unsigned long number, struct dm_request *request) {
  request->version[0] = 4;
  request->size = sizeof *request;
  request->start = 312;
  strcpy(request->name, "root");
  if (ioctl(control, number, request) < 0) fail("INIT_ROOT", "device-mapper");
}

static void wait_for(const char *path) {
  for (int waited = 0; access(path, F_OK) < 0; waited += look_ms) {
    if (waited >= disk_ms) fail("INIT_ROOT", path);
    pause_ms(look_ms);
  }
}

/*
 * In an image that has /etc/root, which says where: the disk, read through the tree whose root the measured command line
 * names. A block that is another resets the machine, so that no program can go on with an error of reading.
 */
static void mount_root(void) {
  static char text[list_bytes], line[list_bytes];
  static struct dm_request request;
  struct root root;
  char *words[words_most];
  if (access("/etc/root", F_OK) < 0) return;
  if (words_of("/etc/root", text, words) != 1 || !is_plain_path(words[0])) fail("INIT_ROOT", "/etc/root");
  int file = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
  long length = file < 0 ? -1 : read(file, line, sizeof line);
  errno = EINVAL;
  if (length <= 0 || length == sizeof line || read_root(line, length, &root) != 1) fail("INIT_ROOT", "/proc/cmdline");
  close(file);
  wait_for("/dev/vda");
  int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
  if (control < 0) fail("INIT_ROOT", "/dev/mapper/control");
  request.flags = dm_read_only;
  ask_dm(control, dm_create, &request);
  memset(&request, 0, sizeof request);
  request.flags = dm_read_only;
  request.targets = 1;
  request.sectors = root.blocks * 8;
  strcpy(request.type, "verity");
  snprintf(request.words, sizeof request.words, "1 /dev/vda /dev/vda 4096 4096 %llu %llu sha256 %s - 1 restart_on_corruption",
           root.blocks, root.blocks, root.digest);
  ask_dm(control, dm_load, &request);
  memset(&request, 0, sizeof request);
  ask_dm(control, dm_resume, &request);
  close(control);
  wait_for("/dev/dm-0");
  if (mount("/dev/dm-0", words[0], "erofs", MS_RDONLY | MS_NODEV | MS_NOSUID, NULL) < 0) fail("INIT_ROOT", words[0]);
}

/* The port whose name in sysfs is that of the channel, or -1. */
static int find_port(void) {
  DIR *ports = opendir("/sys/class/virtio-ports");
  if (ports == NULL) return -1;
  int port = -1;
  struct dirent *entry;
  while (port < 0 && (entry = readdir(ports)) != NULL) {
    char path[320], name[64];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry->d_name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    long length = read(file, name, sizeof name);
    close(file);
    if (length != sizeof channel_name - 1 || memcmp(name, channel_name, length) != 0) continue;
    snprintf(path, sizeof path, "/dev/%s", entry->d_name);
    port = open(path, O_RDWR | O_CLOEXEC);
  }
  closedir(ports);
  return port;
}

static int open_port(void) {
  for (int waited = 0; waited < port_ms; waited += look_ms) {
    int port = find_port();
    if (port >= 0) return port;
    pause_ms(look_ms);
  }
  errno = ENOENT;
  fail("INIT_PORT", "org.veritrain.channel");
  return -1;
}

/* A read of nothing is "no host yet" before the first byte, and the end of the session after it. */
static void relay_in(int port, int program) {
  static char bytes[relay_bytes];
  int begun = 0;
  for (;;) {
    long length = read(port, bytes, sizeof bytes);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 || (length == 0 && begun)) break;
    if (length == 0) {
      pause_ms(look_ms);
      continue;
    }
    begun = 1;
    if (write_all(program, bytes, length) < 0) break;
  }
  shutdown(program, SHUT_RDWR);
  _exit(0);
}

static void relay_out(int program, int port) {
  static char bytes[relay_bytes];
  for (;;) {
    long length = read(program, bytes, sizeof bytes);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    *answered = 1;
    if (write_all(port, bytes, length) < 0) break;
  }
  _exit(0);
}

/* What the program says of a failed start. Later words may hold plaintext of a stack trace, and are read and dropped. */
static void relay_words(int words) {
  static char bytes[console_bytes];
  long left = console_bytes;
  for (;;) {
    long length = read(words, bytes, sizeof bytes);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    if (*answered || left == 0) continue;
    if (length > left) length = left;
    write_all(1, bytes, length);
    left -= length;
  }
  _exit(0);
}

static void become(int null, int words, int channel) {
  static char text[list_bytes];
  char *argv[words_most + 1];
  struct { unsigned version; int pid; } head = { 0x20080522, 0 };
  struct { unsigned effective, permitted, inheritable; } none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
  struct rlimit no_core = { 0, 0 };
  argv[words_of("/etc/enclave.argv", text, argv)] = NULL;
  /* Above those that it takes, so that none is overwritten before it is copied. */
  int from[4] = { null, null, words, channel };
  for (int index = 0; index < 4; index++) if ((from[index] = fcntl(from[index], F_DUPFD, 16)) < 0) _exit(110);
  for (int index = 0; index < 4; index++) if (dup2(from[index], index) < 0) _exit(110);
  for (int file = 4; file < 1024; file++) close(file);
  if (setrlimit(RLIMIT_CORE, &no_core) < 0) _exit(111);
  if (chdir("/app") < 0) _exit(112);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) _exit(113);
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
    if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) _exit(114);
  if (prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0) < 0) _exit(115);
  if (syscall(SYS_capset, &head, none) < 0) _exit(116);
  char *environment[] = { "NODE_ENV=production", "HOME=/", "TMPDIR=/tmp", "ORT_DISABLE_TELEMETRY=1", NULL };
  execve(argv[0], argv, environment);
  _exit(127);
}

static int child(int pid) {
  if (pid < 0) fail("INIT_FORK", "fork");
  return pid;
}

/* Whether the child ends in that time; its status where asked for. */
static int ends_within(int pid, int *status, int ms) {
  for (int waited = 0; waited <= ms; waited += look_ms) {
    if (waitpid(pid, status, WNOHANG) == pid) return 1;
    pause_ms(look_ms);
  }
  return 0;
}

static void run(int port) {
  int channel[2], words[2], status = 0;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0 || pipe2(words, O_CLOEXEC) < 0)
    fail("INIT_CHANNEL", "socketpair");
  int program = child(fork());
  if (program == 0) become(null, words[1], channel[1]);
  close(channel[1]);
  close(words[1]);
  int in = child(fork());
  if (in == 0) relay_in(port, channel[0]);
  int out = child(fork());
  if (out == 0) relay_out(channel[0], port);
  int told = child(fork());
  if (told == 0) relay_words(words[0]);
  close(channel[0]);
  close(words[0]);
  for (;;) {
    int ended = waitpid(-1, &status, 0);
    if (ended == program) break;
    if (ended != in && ended != out) continue;
    if (!ends_within(program, &status, end_ms)) power_off();
    break;
  }
  ends_within(told, NULL, drain_ms);
  if (!*answered) say("INIT_ENDED", "program", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

int main(void) {
  unsigned long closed = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  mkdir("/dev", 0755);
  mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755");
  int console = open("/dev/console", O_RDWR);
  if (console < 0) power_off();
  for (int file = 0; file < 3; file++) if (dup2(console, file) < 0) power_off();
  if (console > 2) close(console);
  if (getpid() != 1) fail("INIT_PID", "1");
  if (access("/etc/SIMULATED", F_OK) == 0) say("SIMULATED", "this image shows no evidence of hardware", 0);
  signal(SIGPIPE, SIG_IGN);
  mount_at("proc", "/proc", closed, NULL);
  mount_at("sysfs", "/sys", closed, NULL);
  mount_at("tmpfs", "/tmp", closed, "size=64m,mode=1777");
  load_modules();
  mount_root();
  mount_at("configfs", "/sys/kernel/config", closed, NULL);
  set_kernel("/proc/sys/kernel/modules_disabled");
  set_kernel("/proc/sys/kernel/kexec_load_disabled");
  set_kernel("/proc/sys/kernel/dmesg_restrict");
  if (mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0) fail("INIT_READ_ONLY", "/");
  answered = mmap(NULL, sizeof *answered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (answered == MAP_FAILED) fail("INIT_MEMORY", "shared");
  run(open_port());
  power_off();
  return 0;
}
