import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { cutOffSocket } from '../support/cut-off-socket.ts'
import type { CutOffSocket } from '../support/cut-off-socket.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const bound = process.getuid?.() === 0 ? 'volume' : 'meter'

const fill =
  'for i in $(seq 40); do dd if=/dev/zero of=/data/f$i bs=1M count=4 2>&1 | grep -o "No space.*"; done; sync; head -c 9M /dev/zero > /data/f0; sync'

/** A background program that takes all space that becomes free, block by block. */
const greed = [
  'import os,time',
  "f=[os.open('/data/greed%d' % i, os.O_WRONLY|os.O_CREAT|os.O_APPEND) for i in range(2)]",
  'n=0',
  'while True:',
  ' try:',
  '  os.write(f[n % 2], bytes(4096 if n > 9000 else 65536)); n+=1',
  ' except OSError: n+=9001; time.sleep(0.001)',
].join('\n')

const cassette = aCassette(
  {
    when: '^one large file$',
    turns: [
      runs('fallocate -l 6G /data/x'),
      says('It said {{said}}.', { capture: { said: '(SIGXFSZ[^\\n]*)' } }),
    ],
  },
  {
    when: '^fill it$',
    turns: [
      runs(`${fill}; true`),
      calls(
        'write_file',
        // Each folder needs a block of 4 KB, which together is more than the reserve for the agent's own state.
        { path: `${'d/'.repeat(700)}note.txt`, content: 'deep' },
        { capture: { heard: '(No space left)' } },
      ),
      runs('rm -rf /data/f* /data/d; df --output=pcent /data | tail -1', {
        capture: { first: '(data-full)' },
      }),
      calls('write_file', { path: 'note.txt', content: 'there is room' }),
      says('{{heard}}, then {{first}}, then {{wrote}}.', { capture: { wrote: '("size_bytes": \\d+)' } }),
    ],
  },
  {
    when: '^leave no byte$',
    turns: [
      runs(`nohup python3 -c "${greed}" >/dev/null 2>&1 & sleep 5`),
      ...Array.from({ length: 12 }, (_, index) => runs(`echo ${index}; seq 3000`)),
      says('I got through.'),
    ],
  },
  { turns: [says('Yes.')] },
)

withEngine(
  'an agent whose data is full',
  (engine) => {
    let mesh: MeshProcess
    let socket: CutOffSocket
    let folder: string

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'flotilla-socket-'))
      socket = await cutOffSocket(join(folder, 'engine.sock'), engine.socketPath)
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { full: cassette },
        environment: { FLOTILLA_NO_INSTALL: '1', FLOTILLA_ENGINE_SOCKET: socket.path },
        settings: { data_limit_mb: 64 },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(async () => {
      await mesh?.stop()
      await socket?.close()
      await rm(folder, { recursive: true, force: true })
    })

    async function expectOneEnd(runId: string): Promise<void> {
      const ledger = openLedger(mesh.home)
      expect(ledger.endings().get(runId)).toBe(1)
      ledger.close()
    }

    it('status and doctor report what limits the disk', async () => {
      const status = (await mesh.call(meshHumanEndpoints.status)).json()
      expect(status['runtime']).toMatchObject({ data_bound: bound, data_limit_mb: 64 })
      const { lines } = await mesh.command('doctor')
      const findings = lines.flatMap((line) => (line['findings'] as { id: string; ok: boolean }[]) ?? [])
      expect(findings.find(({ id }) => id === 'data-limit')).toMatchObject({ ok: bound === 'volume' })
    })

    it('the agent gets an error for a file above the size limit, and continues to answer', async () => {
      const run = await mesh.ask('one large file', { agent: 'clerk' })
      expect(run).toMatchObject({ state: 'done' })
      expect(run.outcome?.text).toMatch(/SIGXFSZ: it wrote a file larger/)
      await expectOneEnd(run.id)
      expect((await mesh.ask('well?', { agent: 'clerk', session: 'after' })).outcome?.text).toBe('Yes.')
    })

    if (bound === 'volume') {
      it('the agent gets a disk-full error from its tools, frees space, and continues in the same run', async () => {
        const run = await mesh.ask('fill it', { agent: 'clerk', session: 'fill' })
        expect(run.outcome).toMatchObject({
          status: 'done',
          text: 'No space left, then data-full, then "size_bytes": 13.',
        })
        await expectOneEnd(run.id)
      })

      it('a container whose data volume is full ends a run for which no byte is left with one outcome that says so, and answers again with room', async () => {
        const run = await mesh.ask('leave no byte', { agent: 'clerk', session: 'greed' })
        expect(run).toMatchObject({ state: 'failed', outcome: { code: 'data-full' } })
        expect(run.outcome?.text).toContain('No space left below /data')
        await expectOneEnd(run.id)
        // A restart ends background processes; a full disk does not prevent a start.
        const restarted = await mesh.call(meshHumanEndpoints.agentRestart, {
          params: { id: 'clerk' },
          timeoutMs: patient(90_000),
        })
        expect(restarted.status, restarted.text).toBe(200)
        const settings = join(mesh.home, 'config', 'settings.json')
        const text = await readFile(settings, 'utf8')
        await writeFile(settings, text.replace('"data_limit_mb": 64', '"data_limit_mb": 128'))
        await eventually('the new limit is read', async () => {
          const status = (await mesh.call(meshHumanEndpoints.status)).json()
          return (status['runtime'] as { data_limit_mb: number }).data_limit_mb === 128
        })
        await mesh.call(meshHumanEndpoints.agentRestart, {
          params: { id: 'clerk' },
          timeoutMs: patient(90_000),
        })
        const freed = await mesh.invoke('clerk', 'run_command', { command: 'rm -f /data/greed*; echo freed' })
        expect(freed.outcome?.text).toContain('freed')
        expect((await mesh.ask('well?', { agent: 'clerk', session: 'end' })).outcome?.text).toBe('Yes.')
      })
    }

    it('a container whose data volume is full is walled in again before it runs when the engine was away', async () => {
      const walls = async () => (await mesh.call(meshHumanEndpoints.walls)).json()
      const before = (await walls())['checked_at'] as number
      await socket.cut()
      await eventually('the mesh lost its engine', async () =>
        mesh.log().includes('lost the connection to the container engine'),
      )
      expect((await walls())['checked_at']).toBe(before)
      await socket.restore()
      const after = await eventually(
        'the walls are tried again',
        async () => {
          const seen = await walls()
          return (seen['checked_at'] as number) > before ? seen : null
        },
        60_000,
      )
      expect((after['walls'] as { holds: boolean }[]).every(({ holds }) => holds)).toBe(true)
      expect((after['walls'] as unknown[]).length).toBeGreaterThan(3)
      await eventually(
        'agents may run',
        async () => (await mesh.call(meshHumanEndpoints.readyz)).status === 200,
      )
      expect((await mesh.ask('well?', { agent: 'clerk', session: 'back' })).outcome?.text).toBe('Yes.')
    })
  },
  found,
)
