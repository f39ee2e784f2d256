import { readFileSync, readdirSync } from 'node:fs'

/** Returns every live process that works on a data folder, whichever process started it and whatever is recorded. */
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
