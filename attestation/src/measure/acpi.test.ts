/** Command lines on which the kernel may read another word on ACPI than the reader does. */
import { expect, it } from 'vitest';
import { isAcpiOff } from './acpi.js';

it.each([
  'acpi=off',
  'console=ttyS0 quiet rdinit=/init acpi=off',
  'acpi=off acpi=off quiet',
  'acpi=off rdinit=/init -- acpi=force',
])('holds for %s', (line) => expect(isAcpiOff(line)).toBe(true));

it.each([
  ['nothing', ''],
  ['no such word', 'console=ttyS0 rdinit=/init'],
  ['a word of the first process', 'rdinit=/init -- acpi=off'],
  ['a later word that turns it on', 'acpi=off acpi=force'],
  ['an earlier one', 'acpi=force acpi=off'],
  ['tables by address', 'acpi=off acpi_rsdp=0x1000'],
  ['another value', 'acpi=offx'],
  ['another name', 'noacpi=off'],
  ['upper case', 'ACPI=OFF'],
  ['a part of a quoted value', 'a="x acpi=off y"'],
  ['quotes that join it', '"acpi=off'],
  ['a tab that parts words for the kernel alone', 'acpi=off\tacpi=force'],
  ['a line feed', 'acpi=off\nacpi=force'],
  ['a byte beyond ASCII that it takes for a space', 'acpi=off\u00a0acpi=force'],
  ['words of the initial RAM disk', 'bootconfig acpi=off'],
])('does not hold for %s', (_, line) => expect(isAcpiOff(line)).toBe(false));
