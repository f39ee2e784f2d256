import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxEnd, SandboxRuntime, SandboxState } from './sandbox-runtime.ts'
import { sandboxSizes } from './default-agent-sizes.ts'
import { sandboxHardening, type SandboxSpec } from './sandbox-spec.ts'
import { machineShareMs, startShareMs } from './start-shares.ts'
import { patient } from '../../../../tests/support/patience.ts'

/** A home with sandboxes, and functions that act inside the processes of these sandboxes. */
export interface ConformanceHome {
  readonly runtime: SandboxRuntime
  /** Returns a second, prepared runtime for the same home, as after a restart of the mesh. */
  readonly again: () => Promise<SandboxRuntime>
  /** Resolves once the process answers. */
  readonly answers: (state: SandboxState) => Promise<void>
  readonly readFile: (state: SandboxState, path: string) => Promise<string | null>
  readonly writeFile: (state: SandboxState, path: string, text: string) => Promise<void>
  /** Returns the current processor limit of a running sandbox; null if the adapter has none. */
  readonly shareOf: (agentId: string) => Promise<SandboxSpec['cpu'] | null>
  /** Makes the process end by itself. */
  readonly endWith: (state: SandboxState, code: number) => Promise<void>
  /** False if the runtime cannot freeze a sandbox while its data is read. */
  readonly freezes?: boolean
  readonly close: () => Promise<void>
}

/** Longest wait for a process to end, milliseconds; under emulation and load, a kernel takes minutes to answer. */
const endWaitMs = patient(120_000)
const dataLimit = { dataLimitBytes: 64 * 1024 * 1024 }

export function aSpec(spec: Partial<SandboxSpec> & { readonly briefingDirectory: string }): SandboxSpec {
  return {
    agentId: 'scout',
    kind: 'worker',
    image: null,
    isolation: 'container',
    ...sandboxSizes.worker,
    pidsLimit: sandboxHardening.pidsLimit,
    tmpSizeBytes: sandboxHardening.tmpSizeBytes,
    dataLimitBytes: 64 * 1024 * 1024,
    environment: {},
    files: {},
    labels: { 'flotilla.start': 's-1' },
    ...spec,
  }
}

/** Tests the contract of every adapter of `sandbox-runtime.ts`; the titles cite the clauses of that contract. */
export function sandboxRuntimeConformance(
  name: string,
  open: () => Promise<ConformanceHome>,
  { isolation = 'container' }: { readonly isolation?: IsolationRung } = {},
): void {
  describe(`sandbox runtime: ${name}`, () => {
    let home: ConformanceHome
    let briefingDirectory: string
    const spec = (fields: Partial<SandboxSpec> & { readonly agentId: string }) =>
      aSpec({ briefingDirectory, isolation, environment: { FLOTILLA_AGENT_ID: fields.agentId }, ...fields })

    beforeAll(async () => {
      briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-briefing-'))
      await chmod(briefingDirectory, 0o755)
      home = await open()
    })

    afterAll(async () => {
      await home?.close()
      await rm(briefingDirectory, { recursive: true, force: true })
    })

    async function started(
      fields: Partial<SandboxSpec> & { readonly agentId: string },
    ): Promise<SandboxState> {
      const state = await home.runtime.start(spec(fields))
      await home.answers(state)
      await home.runtime.endStartShare(fields.agentId)
      return state
    }

    it('a started sandbox runs at an address and carries its labels', async () => {
      const state = await started({ agentId: 'labelled', labels: { 'flotilla.start': 's-7' } })
      expect(state).toMatchObject({ agentId: 'labelled', running: true, labels: { 'flotilla.start': 's-7' } })
      expect(state.address?.host).toBeTruthy()
      expect(await home.runtime.inspect('labelled')).toMatchObject({ running: true, address: state.address })
    })

    it('the engine’s networks are addresses with a prefix, and where there are any, one is the sandboxes’ own', async () => {
      const networks = await home.runtime.networks()
      for (const { address, prefix } of networks) {
        expect(isIP(address)).not.toBe(0)
        expect(prefix).toBeGreaterThanOrEqual(0)
        expect(prefix).toBeLessThanOrEqual(128)
      }
      expect(networks.some(({ own }) => own)).toBe(networks.length > 0)
    })

    it('the files of a spec are there when the process starts', async () => {
      const state = await started({ agentId: 'seeded', files: { 'deep/down/token': 't-1', plain: 'p-1' } })
      expect(await home.readFile(state, 'deep/down/token')).toBe('t-1')
      expect(await home.readFile(state, 'plain')).toBe('p-1')
    })

    it('a file outside the data directory is refused', async () => {
      await expect(home.runtime.start(spec({ agentId: 'outside', files: { '../x': 'x' } }))).rejects.toThrow(
        /Repair/,
      )
    })

    it('a second start replaces the process and keeps its data (S1)', async () => {
      const first = await started({ agentId: 'again', labels: { 'flotilla.start': 'one' } })
      await home.writeFile(first, 'kept', 'yes')
      const second = await started({ agentId: 'again', labels: { 'flotilla.start': 'two' } })
      expect(await home.readFile(second, 'kept')).toBe('yes')
      const listed = (await home.runtime.list()).filter((state) => state.agentId === 'again')
      expect(listed.map((state) => state.labels['flotilla.start'])).toEqual(['two'])
    })

    it('stopping and removing an unknown sandbox is not an error (S3)', async () => {
      await home.runtime.stop('never-was', { graceMs: 10 })
      await home.runtime.remove('never-was', { data: true })
      expect(await home.runtime.inspect('never-was')).toBeNull()
    })

    it('a stopped sandbox can be inspected and stopped again (S3)', async () => {
      await started({ agentId: 'stopped' })
      await home.runtime.stop('stopped', { graceMs: 2_000 })
      await home.runtime.stop('stopped', { graceMs: 2_000 })
      const state = await home.runtime.inspect('stopped')
      expect(state).toMatchObject({ agentId: 'stopped', running: false })
      expect(state?.address).toBeUndefined()
      expect(state?.exit).toBeDefined()
    })

    it('data is read while its sandbox works, which goes on afterwards (S9)', async () => {
      const state = await started({ agentId: 'read' })
      await home.writeFile(state, 'kept', 'a line that was kept')
      const data = await home.runtime.readData('read', dataLimit)
      const tar = Buffer.concat(await Array.fromAsync(data?.tar ?? []))
      expect(tar.includes('a line that was kept')).toBe(true)
      expect(data?.held()).toBe(home.freezes ?? true)
      await home.answers(state)
      // The sandbox continues, too, when a reader stops early.
      const left = await home.runtime.readData('read', dataLimit)
      for await (const _ of left?.tar ?? []) break
      await home.answers(state)
      // The sandbox continues, too, when a reader leaves before it read anything.
      await (await home.runtime.readData('read', dataLimit))?.leave()
      await home.answers(state)
      expect(await home.runtime.readData('never-was', dataLimit)).toBeNull()
    })

    it('data is written only if none exists; existing data is not touched (S10)', async () => {
      const state = await started({ agentId: 'giver' })
      await home.writeFile(state, 'kept', 'handed on')
      await home.runtime.stop('giver', { graceMs: 2_000 })
      const read = async () => {
        const data = await home.runtime.readData('giver', dataLimit)
        return Buffer.concat(await Array.fromAsync(data?.tar ?? []))
      }
      const tar = await read()
      const pieces = async function* () {
        yield tar
      }
      await home.runtime.writeData('heir', pieces(), dataLimit)
      const heir = await started({ agentId: 'heir' })
      expect(await home.readFile(heir, 'kept')).toBe('handed on')
      await expect(home.runtime.writeData('heir', pieces(), dataLimit)).rejects.toThrow(/Repair/)
      expect(await home.readFile(heir, 'kept')).toBe('handed on')
    })

    it('removing without data keeps the data, removing with data destroys it', async () => {
      const first = await started({ agentId: 'mortal' })
      await home.writeFile(first, 'note', 'n-1')
      await home.runtime.remove('mortal', { data: false })
      expect(await home.runtime.inspect('mortal')).toBeNull()
      expect(await home.readFile(await started({ agentId: 'mortal' }), 'note')).toBe('n-1')
      await home.runtime.remove('mortal', { data: true })
      expect(await home.readFile(await started({ agentId: 'mortal' }), 'note')).toBeNull()
    })

    it('a later runtime over the same home lists the sandboxes of an earlier one (S4)', async () => {
      const state = await started({ agentId: 'adopted', labels: { 'flotilla.start': 's-4' } })
      const later = await home.again()
      const listed = (await later.list()).find((entry) => entry.agentId === 'adopted')
      expect(listed).toMatchObject({
        running: true,
        address: state.address,
        labels: { 'flotilla.start': 's-4' },
      })
      await later.close()
    })

    it('an unrequested end is reported once, with its exit code, to every runtime (S5)', async () => {
      const state = await started({ agentId: 'ending' })
      const later = await home.again()
      const [first, second] = [collectEnds(home.runtime, 'ending'), collectEnds(later, 'ending')]
      await home.endWith(state, 3)
      await waitUntil(() => first.ends.length > 0 && second.ends.length > 0)
      await delay(400)
      expect(first.ends).toEqual([{ agentId: 'ending', code: 3, outOfMemory: false }])
      expect(second.ends).toEqual(first.ends)
      expect(await home.runtime.inspect('ending')).toMatchObject({ running: false, exit: { code: 3 } })
      first.leave()
      await later.close()
    })

    it('ends caused by stop, remove and a new start are not reported (S5)', async () => {
      const reported = collectEnds(home.runtime, 'asked')
      await started({ agentId: 'asked' })
      await started({ agentId: 'asked' })
      await home.runtime.stop('asked', { graceMs: 2_000 })
      await started({ agentId: 'asked' })
      await home.runtime.remove('asked', { data: true })
      await delay(400)
      expect(reported.ends).toEqual([])
      reported.leave()
    })

    it('a removed listener is not called', async () => {
      const state = await started({ agentId: 'unheard' })
      const left = collectEnds(home.runtime, 'unheard')
      const stays = collectEnds(home.runtime, 'unheard')
      left.leave()
      await home.endWith(state, 1)
      await waitUntil(() => stays.ends.length > 0)
      expect(left.ends).toEqual([])
      stays.leave()
    })

    it('data is bounded by a volume, or it is measured (S7)', async () => {
      const bound = home.runtime.dataBound()
      const before = await home.runtime.measureData(['never-was'])
      expect([...before.keys()]).toEqual([])
      const state = await started({ agentId: 'measured' })
      await home.writeFile(state, 'kept', 'x'.repeat(9_000))
      const use = (await home.runtime.measureData(['measured', 'never-was'])).get('measured')
      if (bound.kind === 'volume') expect(use).toBeUndefined()
      else {
        expect(bound.why).not.toBe('')
        expect(use?.bytes).toBeGreaterThanOrEqual(9_000)
        expect(use?.files).toBeGreaterThanOrEqual(1)
        expect(use?.complete).toBe(true)
      }
    })

    it(`sandbox runtime: ${name} has its own share of the processor once the share of its start was ended (S8)`, async () => {
      await home.runtime.start(spec({ agentId: 'lender' }))
      await home.runtime.endStartShare('lender')
      await home.runtime.endStartShare('lender')
      expect([sandboxSizes.worker.cpu, null]).toContainEqual(await home.shareOf('lender'))
      await home.runtime.stop('lender', { graceMs: 10 })
      await home.runtime.endStartShare('lender')
      await home.runtime.endStartShare('never-was')
    })

    it(`sandbox runtime: ${name} has its own share after a time limit without a request (S8)`, async () => {
      await home.runtime.start(spec({ agentId: 'forgotten' }))
      if ((await home.shareOf('forgotten')) !== null)
        await delay(isolation === 'microvm' ? machineShareMs : startShareMs)
      expect([sandboxSizes.worker.cpu, null]).toContainEqual(await home.shareOf('forgotten'))
    })

    it(`sandbox runtime: ${name} can be brought to it by a later runtime (S8)`, async () => {
      await home.runtime.start(spec({ agentId: 'left-behind' }))
      const later = await home.again()
      await later.endStartShare('left-behind')
      expect([sandboxSizes.worker.cpu, null]).toContainEqual(await home.shareOf('left-behind'))
      await later.close()
    })

    it('ids that differ by a dash or a capital alone share nothing', async () => {
      const dash = await started({ agentId: 'a-b' })
      await home.writeFile(dash, 'whose', 'dash')
      expect(await home.readFile(await started({ agentId: 'a_b' }), 'whose')).toBeNull()
      expect(await home.readFile(await started({ agentId: 'A-b' }), 'whose')).toBeNull()
      expect(await home.readFile(dash, 'whose')).toBe('dash')
    })

    it('resource use is reported while a sandbox runs', async () => {
      await started({ agentId: 'eater' })
      const uses = await home.runtime.measureUse(['eater', 'nobody'])
      expect([...uses.keys()]).toEqual(['eater'])
      expect(uses.get('eater')?.memoryBytes).toBeGreaterThan(0)
      expect(uses.get('eater')?.cpuSeconds).toBeGreaterThanOrEqual(0)
      await home.runtime.stop('eater', { graceMs: 0 })
      expect([...(await home.runtime.measureUse(['eater'])).keys()]).toEqual([])
    })

    it('logs are the last bytes of the process output', async () => {
      await started({ agentId: 'talker' })
      await waitUntil(async () => (await home.runtime.logs('talker', 1_000)).includes('started talker'))
      expect(await home.runtime.logs('talker', 7)).toBe('talker\n')
      expect(await home.runtime.logs('nobody', 10)).toBe('')
    })
  })
}

function collectEnds(runtime: SandboxRuntime, agentId: string) {
  const ends: SandboxEnd[] = []
  const leave = runtime.onEnd((end) => {
    if (end.agentId === agentId) ends.push(end)
  })
  return { ends, leave }
}

async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(endWaitMs)
  while (!(await holds())) {
    if (deadline.aborted) throw new Error(`it did not come about within ${endWaitMs} ms`)
    await delay(30)
  }
}

/** Source of the program that runs inside real sandboxes during these tests. */
const subjectProgram = `
const { createServer } = require('node:http')
const { spawn } = require('node:child_process')
const { readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const data = process.env.FLOTILLA_DATA ?? '/data'
const actions = {
  '/healthz': () => 'ok',
  '/read': (query) => readFileSync(join(data, query.get('path')), 'utf8'),
  '/write': (query) => writeFileSync(join(data, query.get('path')), query.get('text')) ?? 'ok',
  '/eat': () => { for (const kept = []; ; ) kept.push(Buffer.alloc(1e7, 1)) },
  '/exit': (query) => { setTimeout(() => process.exit(Number(query.get('code'))), 20); return 'ok' },
}
process.on('SIGTERM', () => process.exit(143))
createServer((asked, reply) => {
  const url = new URL(asked.url, 'http://subject')
  if (url.pathname === '/run') {
    const child = spawn('sh', ['-c', url.searchParams.get('command')], { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    child.stdout.on('data', (piece) => { text += piece })
    child.stderr.on('data', (piece) => { text += piece })
    child.on('close', (code, signal) => reply.end(JSON.stringify({ code: code ?? signal, text: text.slice(-100000) })))
    return
  }
  try {
    reply.end(actions[url.pathname](url.searchParams))
  } catch (error) {
    reply.writeHead(404).end(String(error))
  }
}).listen(Number(process.env.FLOTILLA_PORT ?? 8400), '0.0.0.0', () => console.log('started ' + process.env.FLOTILLA_AGENT_ID))
`

/** Writes `subjectProgram` to a folder from which an adapter can run it. */
export async function writeSubject(directory: string): Promise<string> {
  const path = join(directory, 'subject.cjs')
  await writeFile(path, subjectProgram)
  return path
}

/** Functions that act inside a sandbox in which `subjectProgram` runs. */
export const subjectHands = {
  async answers(state: SandboxState): Promise<void> {
    await waitUntil(async () => (await ask(state, '/healthz').catch(() => null)) === 'ok')
  },
  readFile: (state: SandboxState, path: string) => ask(state, `/read?path=${encodeURIComponent(path)}`),
  async writeFile(state: SandboxState, path: string, text: string): Promise<void> {
    await ask(state, `/write?path=${encodeURIComponent(path)}&text=${encodeURIComponent(text)}`)
  },
  async endWith(state: SandboxState, code: number): Promise<void> {
    await ask(state, `/exit?code=${code}`)
  },
  /** Makes the process in the sandbox allocate memory until the kernel kills it. */
  async eatMemory(state: SandboxState): Promise<void> {
    await ask(state, '/eat').catch(() => null)
  },
  /** Runs a shell command in the sandbox; returns its exit code and output. */
  run: async (state: SandboxState, command: string) => {
    const body = await ask(state, `/run?command=${encodeURIComponent(command)}`)
    return JSON.parse(body ?? 'null') as { readonly code: number | string; readonly text: string }
  },
} as const

/** Returns the text of the reply; null unless the status is 200. Rejects if the connection fails. */
function ask(state: SandboxState, path: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const { host, port } = state.address ?? { host: '', port: 0 }
    const asking = request({ host, port, path, agent: false, timeout: 120_000 }, (reply) => {
      let text = ''
      reply.setEncoding('utf8')
      reply.on('data', (piece: string) => {
        text += piece
      })
      reply.on('end', () => resolve(reply.statusCode === 200 ? text : null))
      reply.on('error', reject)
    })
    asking.on('error', reject)
    asking.end()
  })
}
