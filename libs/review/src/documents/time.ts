/** @param seconds unix, from year 1970 to 9999 @returns RFC 3339, UTC */
export function isoTime(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const rest = seconds - days * 86_400;
  const [hours, minutes] = [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60)];
  return `${dateOf(days)}T${two(hours)}:${two(minutes)}:${two(rest % 60)}Z`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Days since 1970 as a date: eras of 400 years that begin in March (H. Hinnant, chrono-Compatible Low-Level Date Algorithms). */
function dateOf(days: number): string {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const ofEra = z - era * 146_097;
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const m = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * m + 2) / 5) + 1;
  const month = m < 10 ? m + 3 : m - 9;
  return `${year + era * 400 + (month <= 2 ? 1 : 0)}-${two(month)}-${two(day)}`;
}
