import { readFileSync, readdirSync } from 'node:fs'

/** Every living process that was started to work on a data folder, whoever started it and whatever is noted. */
export function workersIn(data: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`FLOTILLA_DATA=${data}`)
    } catch {
      return false
    }
  })
}
