import { fork } from 'node:child_process'
import { join } from 'node:path'
import { pinnedNode, repositoryRoot } from './mesh-process.ts'

/** How long others waited for each of their calls, in milliseconds. */
export interface Waits {
  readonly agent: readonly number[]
  readonly person: readonly number[]
}

/** The pause between two calls of others, in milliseconds. */
const beatMs = 10

interface BeatCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Beat {
  /** Calls as a second agent and as a person until `isEnough` of the number of calls; returns how long each waited. */
  during(isEnough: (beats: number) => boolean): Promise<Waits>
  close(): void
}

/** Starts a process that calls in a steady beat. */
export function openBeat(calls: { readonly agent: BeatCall; readonly person: BeatCall }): Beat {
  const program = join(repositoryRoot, 'tests', 'support', 'steady-beat.mjs')
  const child = fork(program, [JSON.stringify({ calls, beatMs })], { execPath: pinnedNode })
  return {
    during: (isEnough) =>
      new Promise<Waits>((resolve, reject) => {
        const end = (code: number | null) => reject(new Error(`the calls of others ended with ${code}`))
        child.once('exit', end)
        const listen = (said: { readonly beats?: number; readonly waits?: Waits }) => {
          if (said.waits !== undefined) {
            child.off('message', listen)
            child.off('exit', end)
            resolve(said.waits)
          } else if (isEnough(said.beats ?? 0)) child.send('stop')
        }
        child.on('message', listen)
        child.send('start')
      }),
    close: () => void child.kill(),
  }
}

/** The 99th percentile. */
const late = (waits: readonly number[]): number =>
  waits.toSorted((one, other) => one - other)[Math.ceil(waits.length * 0.99) - 1] ?? 0

/** The calls of others before a flood, in it, and behind it. */
export interface WaitsAround {
  readonly before: Waits
  readonly during: Waits
  readonly behind: Waits
}

const others = ['agent', 'person'] as const

/** How much longer the others waited in a flood than around it, at the 99th percentile, in milliseconds. Pure. */
export function longerWait({ before, during, behind }: WaitsAround): number {
  const longer = others.map((who) => late(during[who]) - Math.max(late(before[who]), late(behind[who])))
  return Math.max(0, ...longer)
}

/** Whether the waits without a flood differ so much that other programs must have caused them. Pure. */
export function isUnsteady({ before, behind }: WaitsAround, byMs: number): boolean {
  return others.some((who) => Math.abs(late(before[who]) - late(behind[who])) > byMs)
}

/** How long others waited around a flood and in it, as text. Pure. */
export function waitWords({ before, during, behind }: WaitsAround): string {
  const words = (who: keyof Waits, name: string) => {
    const [first, middle, last] = [before, during, behind].map((waits) => Math.round(late(waits[who])))
    return `${name} ${first} ms before, ${middle} ms in it and ${last} ms behind it (${during[who].length} calls)`
  }
  return `99th percentile of waits: ${words('agent', 'another agent')}, ${words('person', 'a person')}`
}
