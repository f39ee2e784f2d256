import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'

export interface DiggerMesh {
  readonly mesh: MeshProcess
  /** Returns the output of a command that the agent runs as its own program. */
  readonly run: (command: string) => Promise<string>
  /** Measures the longest time, milliseconds, that the people's API did not answer during the work. */
  readonly longestSilence: <T>(during: Promise<T>) => Promise<{ readonly ms: number; readonly came: T }>
}

/** A mesh with one agent in a container, `digger`, whose /data has these programs of an attacker, by file name. */
export async function startDiggerMesh(programs: Readonly<Record<string, string>>): Promise<DiggerMesh> {
  const mesh = await startMesh({
    runtime: 'docker',
    cassettes: { parsing: aCassette({ turns: [says('Read.')] }) },
    environment: { FLOTILLA_NO_INSTALL: '1' },
  })
  await mesh.createWorker('digger')
  for (const [path, program] of Object.entries(programs)) {
    const put = await mesh.call(meshHumanEndpoints.fileWrite, {
      params: { id: 'digger', path },
      body: new Uint8Array(Buffer.from(program)),
    })
    if (put.status !== 200) throw new Error(put.text)
  }

  return {
    mesh,
    async run(command) {
      const done = await mesh.invoke('digger', 'run_command', { command, timeout_s: 200 })
      const { result } = done.outcome ?? {}
      return typeof result === 'string' ? result : JSON.stringify(done.outcome)
    },
    async longestSilence(during) {
      const over = new AbortController()
      const ended = during.finally(() => over.abort())
      let ms = 0
      while (!over.signal.aborted) {
        const asked = performance.now()
        const reply = await mesh.call(meshHumanEndpoints.healthz, { timeoutMs: patient(120_000) })
        expect(reply.status).toBe(200)
        ms = Math.max(ms, performance.now() - asked)
      }
      return { ms, came: await ended }
    },
  }
}
