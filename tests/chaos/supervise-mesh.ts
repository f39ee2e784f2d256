import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { meshArguments, pinnedNode } from '../support/mesh-process.ts'
import { httpCall } from '../support/http-call.ts'

/** One process of the mesh. Times are milliseconds of `performance.now()`. */
export interface MeshInstance {
  readonly number: number
  readonly startedAt: number
  /**
   * When the previous process was killed, without the time that checks took in between; null if it was not killed.
   */
  readonly killedBeforeAt: number | null
  readyAt: number | null
  endedAt: number | null
  /** Whether the test ended it. */
  killed: boolean
  /** Its log lines with the time of each. */
  readonly lines: { readonly at: number; readonly said: Readonly<Record<string, unknown>> }[]
  errors: string
}

export interface Supervisor {
  readonly instances: readonly MeshInstance[]
  url(): string
  /** The process that runs, or the one that starts next. */
  current(): MeshInstance
  /** Resolves when the current process, or a later one, is ready. Rejects after the bound. */
  ready(boundMs?: number): Promise<MeshInstance>
  /** Kills the mesh; the next process starts after `between` has resolved. */
  kill(between?: (instance: MeshInstance) => Promise<void>): Promise<void>
  /** Starts no further process after this one has ended. Resolves at its end. */
  retire(): Promise<void>
  /** Like `retire`, but also ends the current process now. */
  end(): Promise<void>
}

/**
 * Longest wait for a ready mesh, milliseconds. In a cluster the mesh may have to wait until a lost node is noticed.
 */
const readyMaxMs = { process: 180_000, docker: 180_000, kubernetes: 600_000 } as const
const stopMaxMs = 30_000
/**
 * Processes that may end by themselves before the test fails: disturbances of a cluster or a full disk can make a
 * start fail.
 */
const deathsMax = { process: 40, docker: 5, kubernetes: 20 } as const

/** Restarts a mesh on a home as a supervisor would: at once, on the same port. */
export function superviseMesh(options: {
  readonly home: string
  readonly runtime: RuntimeName
  readonly environment: NodeJS.ProcessEnv
}): Supervisor {
  const instances: MeshInstance[] = []
  let child: ChildProcess | null = null
  let port = 0
  let retired = false
  let deaths = 0
  let held: Promise<void> = Promise.resolve()
  let dyingMs = 0
  let fatal: Error | null = null
  let ended: Promise<void> = Promise.resolve()

  function begin(afterKill: boolean): void {
    const startedAt = performance.now()
    const instance: MeshInstance = {
      number: instances.length + 1,
      startedAt,
      killedBeforeAt: afterKill ? startedAt - dyingMs : null,
      readyAt: null,
      endedAt: null,
      killed: false,
      lines: [],
      errors: '',
    }
    instances.push(instance)
    const { home, runtime, environment } = options
    const words = meshArguments('serve', '--home', home, '--port', String(port), '--runtime', runtime)
    const started = spawn(pinnedNode, words, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    child = started
    started.stderr.on(
      'data',
      (piece: Buffer) => (instance.errors = (instance.errors + String(piece)).slice(-4000)),
    )
    eachLine(started, (text) => hear(instance, text))
    ended = new Promise((resolve) => {
      started.once('close', () => {
        instance.endedAt = performance.now()
        void next(instance).then(resolve)
      })
    })
  }

  async function next(instance: MeshInstance): Promise<void> {
    if (!instance.killed && !retired) {
      deaths = instance.readyAt === null ? deaths + 1 : 1
      if (deaths >= deathsMax[options.runtime]) {
        fatal = new Error(`the mesh ended by itself:\n${lastWords(instance)}`)
        return
      }
      await sleep(500)
    }
    await held
    if (!retired) begin(instance.killed)
  }

  function hear(instance: MeshInstance, text: string): void {
    if (!text.startsWith('{')) return
    const parsed = JSON.parse(text) as Record<string, unknown>
    instance.lines.push({ at: performance.now(), said: parsed })
    if (parsed['ready'] !== true) return
    port = Number(new URL(String(parsed['url'])).port)
    void confirm(instance)
  }

  /** Confirms the reported readiness through `/readyz`. */
  async function confirm(instance: MeshInstance): Promise<void> {
    const url = `http://127.0.0.1:${port}/readyz`
    while (instance.endedAt === null && instance.readyAt === null) {
      const reply = await httpCall({ method: 'GET', url, timeoutMs: 5000 }).catch(() => null)
      if (reply?.status === 200) instance.readyAt = performance.now()
      else await sleep(20)
    }
  }

  const current = (): MeshInstance => {
    const instance = instances.at(-1)
    if (!instance) throw new Error('no mesh was started')
    return instance
  }

  begin(false)
  return {
    instances,
    url: () => `http://127.0.0.1:${port}`,
    current,
    async ready(boundMs = readyMaxMs[options.runtime]) {
      const end = performance.now() + boundMs
      for (;;) {
        const instance = current()
        if (instance.readyAt !== null && instance.endedAt === null) return instance
        if (fatal) throw fatal
        if (performance.now() > end) {
          throw new Error(`the mesh was not ready in ${boundMs} ms:\n${lastWords(instance)}`)
        }
        await sleep(10)
      }
    },
    async kill(between) {
      const instance = current()
      const { pid } = child ?? {}
      if (pid === undefined || instance.endedAt !== null) return
      let release = (): void => undefined
      held = new Promise((resolve) => (release = resolve))
      instance.killed = true
      const over = new Promise<void>((resolve) => child?.once('close', () => resolve()))
      const killedAt = performance.now()
      process.kill(pid, 'SIGKILL')
      await over
      dyingMs = performance.now() - killedAt
      try {
        await between?.(instance)
      } finally {
        release()
      }
    },
    async retire() {
      retired = true
      await ended
    },
    async end() {
      retired = true
      child?.kill('SIGTERM')
      const late = setTimeout(() => child?.kill('SIGKILL'), stopMaxMs)
      await ended
      clearTimeout(late)
    },
  }
}

export function lastWords(instance: MeshInstance): string {
  return [
    ...instance.lines.slice(-8).map(({ said }) => JSON.stringify(said).slice(0, 500)),
    instance.errors,
  ].join('\n')
}

function eachLine(child: ChildProcess, hear: (text: string) => void): void {
  let rest = ''
  child.stdout?.on('data', (piece: Buffer) => {
    const texts = (rest + piece.toString()).split('\n')
    rest = texts.pop() ?? ''
    texts.forEach(hear)
  })
}
