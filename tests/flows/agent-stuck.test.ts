import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { silenceMaxMs } from '../../packages/work/src/runs/dispatch/run-pulses.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson } from '../verifies.ts'

/** Longer than an agent may stay silent. */
const longSeconds = silenceMaxMs / 1000 + 40
const endsWithinMs = 400_000

const works = (when: string, seconds: number) => ({
  when,
  turns: [
    calls('run_command', { command: `touch begun; sleep ${seconds}`, timeout_s: 300 }),
    says('All done.'),
  ],
})

/** All agents are tested concurrently, each in its own state: most of the time is waiting. */
describe('an agent whose process lives and whose work does not get on', () => {
  heedsLesson(93)
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await startMesh({
      cassettes: { stuck: aCassette(works('long', longSeconds), works('short', 20)) },
    })
    for (const id of ['stopped', 'starved', 'writer', 'patient']) await mesh.createWorker(id)
  })
  afterAll(() => mesh?.stop())

  /** Returns the agent's own process: the child of the shell that records its end. */
  async function processOf(agent: string): Promise<number> {
    const records = await mesh.agentProcesses()
    const { pid = 0 } = records.find((record) => record.agentId === agent) ?? {}
    return Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim())
  }
  async function begins(agent: string, words: string): Promise<string> {
    const id = await mesh.submit(words, { agent })
    await hasBegun(agent)
    return id
  }
  const hasBegun = (agent: string) =>
    eventually(`${agent} works`, () =>
      readFile(join(mesh.dataOf(agent), 'begun')).then(
        () => true,
        () => null,
      ),
    )
  const starve = (pid: number) => {
    const done = spawnSync('prlimit', ['--pid', String(pid), '--nofile=4:4'], { encoding: 'utf8' })
    if (done.status !== 0) throw new Error(done.stderr)
  }
  const journalOf = (agent: string) => {
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { readOnly: true })
    const rows = database
      .prepare(
        "SELECT action, detail FROM journal WHERE subject = ? AND action IN ('agent.hung', 'agent.died')",
      )
      .all(agent)
    database.close()
    return rows.map((row) => ({ action: row['action'], ...JSON.parse(String(row['detail'])) }) as object)
  }

  it.concurrent(
    'an agent whose process lives and whose work does not get on is ended and started again when it is stopped',
    async () => {
      const run = await begins('stopped', 'long work')
      process.kill(await processOf('stopped'), 'SIGSTOP')
      const ended = await mesh.ended(run, endsWithinMs)
      expect(ended).toMatchObject({ state: 'done', attempt: 2, outcome: { text: 'All done.' } })
      expect(journalOf('stopped')).toMatchObject([
        { action: 'agent.hung', reason: 'the agent does not answer' },
      ])
    },
    patient(endsWithinMs),
  )

  // The test searches without a pause for minutes for anything that it cannot open.
  it.runIf(process.env['FLOTILLA_SOAK'] === '1')(
    'an agent whose process lives and whose work does not get on is ended when it can open nothing more',
    { concurrent: true, timeout: patient(endsWithinMs) },
    async () => {
      const run = await begins('starved', 'long work')
      starve(await processOf('starved'))
      const ended = await mesh.ended(run, endsWithinMs)
      expect(ended).toMatchObject({ state: 'done', attempt: 2, outcome: { text: 'All done.' } })
      // The texts depend on the connections that were open before: only those still answer.
      expect(journalOf('starved')).toMatchObject([
        { action: 'agent.hung', reason: expect.stringMatching(/no progress of the run|answer/) as string },
      ])
    },
  )

  it.concurrent(
    'an agent whose process lives and whose work does not get on ends itself when it cannot write what came of its work',
    async () => {
      const run = await begins('writer', 'short work')
      starve(await processOf('writer'))
      const ended = await mesh.ended(run, endsWithinMs)
      expect(ended).toMatchObject({ state: 'done', attempt: 2, outcome: { text: 'All done.' } })
      expect(journalOf('writer')).toMatchObject([
        { action: 'agent.died', exit_code: 74, reason: 'the agent could not write its state to /data' },
      ])
    },
    patient(endsWithinMs),
  )

  it.concurrent(
    'an agent whose process lives and whose work does not get on is left alone while it works for longer than that',
    async () => {
      const run = await begins('patient', 'long work')
      const ended = await mesh.ended(run, endsWithinMs)
      expect(ended).toMatchObject({ state: 'done', attempt: 1, outcome: { text: 'All done.' } })
      expect(journalOf('patient')).toEqual([])
    },
    patient(endsWithinMs),
  )
})
