import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { openMesh, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson } from '../verifies.ts'

let home: MeshProcess
beforeAll(async () => {
  home = await startMesh({ cassettes: { plain: aCassette({ turns: [says('Yes.')] }) } })
  await home.terminate()
  // Whatever failed first, the shutdown fails as well.
  refuseRow('mesh.stopped', 'the end went wrong')
})
afterAll(() => home?.stop())

function inDatabase(sql: string): void {
  const database = new DatabaseSync(join(home.home, 'data', 'mesh.db'))
  database.exec(sql)
  database.close()
}

/** Makes the audit log refuse rows of this action. */
function refuseRow(action: string, words: string): void {
  inDatabase(`CREATE TRIGGER "refuse ${action}" BEFORE INSERT ON journal WHEN NEW.action = '${action}'
    BEGIN SELECT RAISE(ABORT, '${words}'); END`)
}

const takeBackRefusal = (action: string) => inDatabase(`DROP TRIGGER "refuse ${action}"`)

async function takenPort(): Promise<number> {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void holder.close())
  return (holder.address() as AddressInfo).port
}

/** Makes a start fail at one step, and returns the port for the start and a function that repairs it. */
const faults: readonly (readonly [string, string, () => Promise<{ port: number; mend: () => unknown }>])[] = [
  [
    'before anything listens',
    'is used by process',
    async () => ({ port: await takenPort(), mend: () => {} }),
  ],
  [
    'listening, before any work',
    'the operator went wrong',
    async () => {
      inDatabase("DELETE FROM agents WHERE id = 'operator'")
      refuseRow('agent.created', 'the operator went wrong')
      return { port: 0, mend: () => takeBackRefusal('agent.created') }
    },
  ],
  [
    'when all is at work',
    'the start went wrong',
    async () => {
      refuseRow('mesh.started', 'the start went wrong')
      return { port: 0, mend: () => takeBackRefusal('mesh.started') }
    },
  ],
]

describe('a start that goes wrong', () => {
  it.each(faults)(
    '%s ends with its first error, though its end goes wrong too',
    async (_when, words, fault) => {
      heedsLesson(95)
      const { port, mend } = await fault()
      const mesh = openMesh(home.home, { port })
      await expect(mesh.restart()).rejects.toThrow('the mesh ended with 1')
      const problems = mesh
        .told()
        .flatMap((line) => ('problem' in line ? [JSON.stringify(line['problem'])] : []))
      expect(problems).toEqual([expect.stringContaining(words)])
      expect(mesh.told().filter((line) => 'ready' in line)).toEqual([])
      expect(mesh.log()).toContain('the end went wrong')
      expect(existsSync(join(home.home, 'data', 'mesh.json'))).toBe(false)
      await mend()
    },
  )

  it('a failed start leaves a home that starts; an uncaught error ends the mesh with its problem, and the mesh starts again', async () => {
    takeBackRefusal('mesh.stopped')
    const injected = join(home.home, 'reject.mjs')
    await writeFile(
      injected,
      "process.on('SIGUSR2', () => void Promise.reject(new Error('nobody waited for this')))\n",
    )
    const mesh = openMesh(home.home, { environment: { NODE_OPTIONS: `--import ${injected}` } })
    await mesh.restart()
    process.kill(mesh.pid, 'SIGUSR2')
    await expect
      .poll(() => mesh.told().flatMap((line) => ('problem' in line ? [line['problem']] : [])))
      .toEqual([expect.objectContaining({ detail: expect.stringContaining('nobody waited for this') })])
    await home.restart()
    expect(await home.terminate()).toBe(0)
  })
})
