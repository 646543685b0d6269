/** A process by its id and the time of its start: an id alone is given to others in time. */
import { readFileSync } from 'node:fs';

/** `ID START`, for what this process leaves behind where it is killed. */
export function thisProcess(): string {
  return `${process.pid} ${startTimeOf(process.pid)}`;
}

/** @param name  as `thisProcess` gives it */
export function isAlive(name: string): boolean {
  const [id, started] = name.split(' ');
  const pid = Number(id);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startTimeOf(pid) === started;
}

/** Field 22 of /proc/PID/stat (proc(5)); `0` where there is no such file. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
  } catch {
    return '0';
  }
}
