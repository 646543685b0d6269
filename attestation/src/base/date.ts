/** Times as people read them, without a clock. */

/** The end of the year 9999. */
const lastMillisecond = 253_402_300_799_999;

/** A day since 1970 in the Gregorian calendar: eras of 400 years from March, so that the leap day is the last. */
function dayText(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const date = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const isNext = month >= 10;
  const parts = [isNext ? month - 9 : month + 3, date].map((part) => `${part}`.padStart(2, '0'));
  return [`${year + era * 400 + (isNext ? 1 : 0)}`.padStart(4, '0'), ...parts].join('-');
}

/** Milliseconds since 1970, as far as dates go. */
export function dateOf(milliseconds: string): string | undefined {
  const time = Number(milliseconds);
  if (!Number.isSafeInteger(time) || time < 0 || time > lastMillisecond) return undefined;
  const [day, rest] = [Math.floor(time / 86_400_000), time % 86_400_000];
  const [hour, minute, second] = [rest / 3_600_000, (rest / 60_000) % 60, (rest / 1000) % 60].map((part) =>
    `${Math.floor(part)}`.padStart(2, '0'),
  );
  return `${dayText(day)}T${hour}:${minute}:${second}.${`${rest % 1000}`.padStart(3, '0')}Z`;
}
