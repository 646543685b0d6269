/**
 * Whether a kernel that is started with this command line reads ACPI tables. The host supplies them, they are in no
 * measurement, and their code (AML) runs in the guest's kernel with all of its memory in reach; with `acpi=off` Linux neither
 * reads nor runs them (Linux Documentation/admin-guide/kernel-parameters.txt; lib/cmdline.c, kernel/params.c).
 */

/** Words that a kernel takes, in order: those after `--` are for the first process. */
function kernelWords(commandLine: string): readonly string[] {
  const words = commandLine.split(' ');
  const end = words.indexOf('--');
  return end < 0 ? words : words.slice(0, end);
}

/**
 * True for a line on which the kernel can read nothing but `acpi=off`: printable, without quotes (they join words), without
 * a boot configuration that would add words, and with no other word on ACPI, since the last one counts.
 */
export function isAcpiOff(commandLine: string): boolean {
  if (!/^[\x20-\x7e]*$/.test(commandLine) || commandLine.includes('"')) return false;
  const words = kernelWords(commandLine);
  const others = words.filter((word) => /^(acpi|bootconfig)/.test(word) && word !== 'acpi=off');
  return words.includes('acpi=off') && others.length === 0;
}
