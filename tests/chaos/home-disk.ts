import { setTimeout as sleep } from 'node:timers/promises'
import { canMount, mountAt } from '../support/small-disk.ts'
import type { Disturbance } from './ground.ts'

/** Size of the home's disk, MB; larger than one chaos test fills by itself. */
const sizeMb = 1024
/** How long the disk stays full, milliseconds. */
const fullMs = { least: 500, most: 8000 }

/** The disk of a home, which becomes full and empties again while the fleet works. */
export interface HomeDisk {
  readonly disturbances: readonly Disturbance[]
  /** Resolves once the disk has room; a database on a full disk cannot be opened and checked. */
  hasRoom(): Promise<void>
  unmount(): void
}

/** Mounts a disk over the folder of a home; requires root. */
export function mountHomeDisk(home: string): HomeDisk {
  if (!canMount) throw new Error('the chaos fills the disk of its home, which only root can mount')
  const disk = mountAt(home, { sizeMb })
  let full: Promise<void> = Promise.resolve()

  async function stayFull(ms: number, signal: AbortSignal): Promise<void> {
    disk.fill()
    await sleep(ms, null, { signal }).catch(() => null)
    await disk.drain()
  }

  return {
    disturbances: [
      {
        name: 'the disk was full',
        disturb: (chance, signal) => {
          full = stayFull(chance.between(fullMs.least, fullMs.most), signal)
          return full
        },
      },
    ],
    hasRoom: () => full,
    unmount: disk.unmount,
  }
}
