import { setTimeout as sleep } from 'node:timers/promises'
import { canMount, mountAt } from '../support/small-disk.ts'
import type { Disturbance } from './ground.ts'

/** Room of the home, which what one chaos writes does not use up by itself. */
const sizeMb = 1024
/** How long the disk stays full, milliseconds. */
const fullMs = { least: 500, most: 8000 }

/** The disk that a home lies on, which fills and empties while the fleet works. */
export interface HomeDisk {
  readonly disturbances: readonly Disturbance[]
  /** Resolves once the disk has room: nothing can be looked at in a database that cannot be opened. */
  hasRoom(): Promise<void>
  unmount(): void
}

/** Mounts a disk over the folder of a home; only root can. */
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
        befall: (chance, signal) => {
          full = stayFull(chance.between(fullMs.least, fullMs.most), signal)
          return full
        },
      },
    ],
    hasRoom: () => full,
    unmount: disk.unmount,
  }
}
