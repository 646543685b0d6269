/* The disk that the measured command line pins: `veritrain.root=BLOCKS:DIGEST`, blocks of 4096 bytes and the root of their tree. */

enum { root_digest = 64, root_digits = 10 };

struct root {
  unsigned long long blocks;
  char digest[root_digest + 1];
};

static int read_root_value(const char *at, const char *end, struct root *root) {
  const char *digits = at;
  root->blocks = 0;
  while (at < end && at - digits < root_digits && *at >= '0' && *at <= '9') root->blocks = root->blocks * 10 + (*at++ - '0');
  if (at == digits || *digits == '0' || end - at != 1 + root_digest || *at++ != ':') return -1;
  for (int index = 0; index < root_digest; index++, at++) {
    if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'))) return -1;
    root->digest[index] = *at;
  }
  root->digest[root_digest] = 0;
  return 1;
}

/* 1 and the root; 0: the line names none; -1: the line names one that is malformed, or two. Words after `--` are not read. */
static int read_root(const char *line, long length, struct root *root) {
  static const char name[] = "veritrain.root=";
  const long name_length = sizeof name - 1;
  const char *end = line + length;
  int found = 0;
  while (line < end) {
    const char *word = line;
    while (line < end && *line != ' ' && *line != '\n') line++;
    long size = line - word;
    if (line < end) line++;
    if (size == 2 && word[0] == '-' && word[1] == '-') break;
    if (size < name_length) continue;
    int is_named = 1;
    for (long index = 0; index < name_length; index++) if (word[index] != name[index]) is_named = 0;
    if (!is_named) continue;
    if (found || read_root_value(word + name_length, word + size, root) < 0) return -1;
    found = 1;
  }
  return found;
}
