/* Lists of words, one to a line, as /etc/enclave.argv and /etc/modules hold them. No allocation; the text is cut in place. */

/* The number of words, or -1: no word, more than `most`, an empty or unended line, or a byte outside printable ASCII. */
static int read_words(char *text, long length, char **words, int most) {
  int count = 0;
  long start = 0;
  for (long at = 0; at < length; at++) {
    if (text[at] != '\n') {
      if (text[at] < 0x20 || text[at] > 0x7e) return -1;
      continue;
    }
    if (at == start || count == most) return -1;
    text[at] = 0;
    words[count++] = text + start;
    start = at + 1;
  }
  return start == length && count > 0 ? count : -1;
}

/* Whether a path is absolute and goes through no `..`, no empty and no `.` part. */
static int is_plain_path(const char *path) {
  if (path[0] != '/') return 0;
  while (*path == '/') {
    const char *part = ++path;
    while (*path && *path != '/') path++;
    long length = path - part;
    if (length == 0 || (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))) return 0;
  }
  return 1;
}
