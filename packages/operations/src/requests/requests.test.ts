import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAgentPackages } from '../../../fleet/src/agents/lifecycle/agent-packages.ts'
import { createMachineRoom } from '../../../fleet/src/agents/lifecycle/machine-room.ts'
import { resourcesModule } from '../../../fleet/src/resources/index.ts'
import { SandboxError } from '../../../fleet/src/sandbox/sandbox-error.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { AgentCaller } from '../../../identity/src/http/gates/agent-gate.ts'
import { createFakePackageImages } from '../../../testing/src/fake-package-images.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import type { ApprovalKind } from '../../../work/src/approvals/approval-kind.ts'
import { createApprovals } from '../../../work/src/approvals/approvals.ts'
import { originOf } from '../../../work/src/runs/submit-run.ts'
import { createChooseLocks } from './choose-locks.ts'
import { createPackageRequestTable } from './package-request-table.ts'
import { packagesApproval } from './packages-approval.ts'
import { createRequestPackages } from './request-packages.ts'
import { createRequestSize, sizeApproval } from './request-size.ts'
import { packageRequestLimits } from './request-limits.ts'

const mb = 1024 * 1024

interface Home {
  readonly images: ReturnType<typeof createFakePackageImages>
  readonly folder: string
  readonly agents: Record<string, Record<string, unknown>>
  readonly hasImages?: boolean
}

async function aHome(): Promise<Home> {
  const images = createFakePackageImages()
  images.registry.set('ripgrep', '13').set('jq', '1.6').set('hello', '2')
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-requests-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { images, folder, agents: {} }
}

/** One process of the mesh on the rows of a ledger and the files of a home. */
function aProcess(ledger: LedgerHarness, { images, folder, agents, hasImages = true }: Home) {
  const { fleetEvents, workEvents, clock } = ledger
  const log = silentLog
  const settings = () => ({ agents, egress: { allowed_hosts: {} } }) as never
  const settingsFile = {
    current: settings,
    editAll: async (choose: (of: never) => readonly { field: readonly string[]; value: unknown }[]) => {
      for (const { field, value } of choose(settings())) {
        const [, agentId = '', member = ''] = field
        agents[agentId] = { ...agents[agentId], [member]: value }
      }
    },
  }
  const ids = ['coder', 'helper', 'spawn_a']
  const registry = {
    find: (id: string) => (ids.includes(id) ? { id, kind: 'worker' as const } : undefined) as never,
    require: (id: string) => (ids.includes(id) ? { id, kind: 'worker' as const } : missingAgent(id)) as never,
    list: () => ids.map((id) => ({ id })) as never,
  }
  const runtime = {
    packages: hasImages ? images : null,
    ownImages: null,
    kind: 'docker' as never,
    isolates: true,
  }
  const packages = createAgentPackages({
    fleetEvents,
    log,
    clock,
    runtime,
    locksFolder: folder,
    imageSetting: () => undefined,
  })
  const room = createMachineRoom({
    capacity: () => ({ memoryBytes: 5 * 1024 * mb, cpus: 4 }),
    beside: () => [],
    agents: { list: () => [] },
    startedSizes: new Map(),
  })
  const kernel = { ...ledger, log }
  const { api: resources } = resourcesModule(kernel as never, {
    agents: { registry: registry as never, packages, room },
    settingsFile,
  })
  const kinds: Record<string, ApprovalKind> = {}
  const approvals = createApprovals({
    ...kernel,
    kinds,
    notifyRun: ledger.ledger.delivery.notifyRun,
    originOf: (of) => originOf(of),
    runCosts: () => null,
  })
  const table = createPackageRequestTable(ledger.database)
  const shared = { ...kernel, ...resources, table, registry, packages, approvals, settingsFile }
  const locks = createChooseLocks({ ...shared, runs: ledger.ledger })
  kinds['add-packages'] = packagesApproval({ ...shared, grant: resources.packages.grant })
  kinds['change-size'] = sizeApproval({ ...shared, useOf: () => 'It used at most 300 MB.' })
  workEvents.runAwaits.subscribe((runId) => [
    ...table.choosingOf(runId),
    ...approvals
      .list(person, { open: true, limit: 100 })
      .flatMap((one) => (one.run_id === runId ? [one.id] : [])),
  ])
  workEvents.runSettled.subscribe(({ id }) => locks.runSettled(id))
  workEvents.runSettled.subscribe(approvals.runSettled)
  const requestPackages = createRequestPackages({ ...shared, stored: locks.wake })
  const requestSize = createRequestSize(shared)
  const caller = (id = 'coder') => ledger.callerOf(id) as AgentCaller // the harness makes agents alone
  const killed = new AbortController()
  void locks.run(killed.signal)
  onTestFinished(() => killed.abort())
  return {
    approvals,
    table,
    packages,
    killed,
    ask: (packages: PackageList = { apt: ['ripgrep'] }, id = 'coder') =>
      requestPackages(caller(id), { packages, reason: 'to search' }),
    askSize: (wanted: object, id = 'coder') =>
      requestSize(caller(id), { reason: 'the tests need it', ...wanted }),
    open: () => approvals.list(person, { open: true, limit: 100 }),
    /** Confirms the newest approval, and waits until its action has ended. */
    confirm: async () => {
      const one = approvals.list(person, { open: true, limit: 1 })[0]
      const { id } = await approvals.confirm(person, { id: one?.id ?? '', digest: one?.digest ?? '' })
      await until(() => approvals.read(person, id).state !== 'confirmed')
      return approvals.read(person, id)
    },
  }
}

async function atWork() {
  const ledger = aLedgerHarness()
  onTestFinished(() => ledger.ledger.close())
  ledger.ledger.start()
  const run = ledger.chat('coder')
  await ledger.clock.settle()
  const home = await aHome()
  return { ledger, run, home, ...aProcess(ledger, home) }
}

/** Lets timers of the clock and files of the home go on. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}

describe('packages that an agent asks for', () => {
  test('are shown to a person with each file, before any image is built', async () => {
    const { ask, open, home } = await atWork()
    expect(ask()).toMatchObject({ state: 'choosing' })
    await until(() => open().length === 1)
    const [one] = open()
    expect(one).toMatchObject({ kind: 'add-packages', subject: 'coder', asked_by: 'agent:coder' })
    expect(one?.summary).toBe('add ripgrep (apt) to the image of agent coder')
    const words = one?.consequences.join('\n')
    expect(words).toMatch(/adds apt ripgrep 13, 1000 bytes, sha256:[0-9a-f]{64}/)
    expect(words).toContain('Agent coder asks for it, and says: "to search"')
    expect(words).toContain('apt http://registry.test/')
    expect(home.images.built).toEqual([])
    expect(await readdir(home.folder)).toEqual([])
    expect(home.agents).toEqual({})
  })

  test('get exactly the approved lock, and the waiting run goes on', async () => {
    const { ask, open, confirm, home, ledger, run } = await atWork()
    home.agents['coder'] = { packages: { apt: ['jq'] } }
    ask()
    await until(() => open().length === 1)
    expect(open()[0]?.consequences.join('\n')).toContain('adds apt jq 1.6')
    ledger.agents.finish('coder', { response: 'I wait.' })
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('waiting')
    expect(await confirm()).toMatchObject({ state: 'done' })
    expect(home.agents['coder']).toEqual({ packages: { apt: ['jq', 'ripgrep'] } })
    expect(home.images.built).toEqual([{ apt: ['jq', 'ripgrep'], npm: [], pip: [] }])
    const [file = ''] = (await readdir(home.folder)).filter((name) => name.endsWith('.lock.json'))
    expect(JSON.parse(await readFile(join(home.folder, file), 'utf8'))).toMatchObject({
      apt: [
        { name: 'jq', version: '1.6' },
        { name: 'ripgrep', version: '13' },
      ],
    })
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('running')
    expect(ledger.agents.sent.at(-1)?.message).toContain('from your next run on')
  })

  test('are not installed if the registry has other files by then, and the agent keeps its packages', async () => {
    const { ask, open, confirm, home } = await atWork()
    ask()
    await until(() => open().length === 1)
    home.images.registry.set('ripgrep', '14')
    expect(await confirm()).toMatchObject({ state: 'failed', detail: expect.stringContaining('other files') })
    expect(home.agents).toEqual({})
    expect(await readdir(home.folder)).toEqual([])
  })

  test('are not installed if the stored lock or the list of the agent changed after the approval was shown', async () => {
    const { ask, open, confirm, home, ledger } = await atWork()
    ask()
    await until(() => open().length === 1)
    ledger.database.exec("UPDATE package_requests SET lock = replace(lock, '13', '14')")
    expect(await confirm()).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('lock differs'),
    })
    ask()
    await until(() => open().length === 1)
    home.agents['coder'] = { packages: { apt: ['hello'] } }
    expect(await confirm()).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('were changed'),
    })
    expect(home.images.built).toEqual([])
  })

  test('are refused by a person once, and the run is notified', async () => {
    const { ask, open, approvals, ledger, run, home } = await atWork()
    ask()
    await until(() => open().length === 1)
    ledger.agents.finish('coder', { response: 'I wait.' })
    await ledger.clock.settle()
    approvals.cancel(person, open()[0]?.id ?? '')
    await ledger.clock.settle()
    expect(ledger.state(run)).toBe('running')
    expect(ledger.agents.sent.at(-1)?.message).toContain('A person rejected the action')
    expect(home.images.built).toEqual([])
    expect(home.agents).toEqual({})
  })

  test('that a registry lacks are named to the waiting run, and no person is asked', async () => {
    const { ask, open, ledger, run, table } = await atWork()
    ask({ apt: ['no-such-package'] })
    ledger.agents.finish('coder', { response: 'I wait.' })
    await until(() => table.byId('pack_1')?.state === 'ended')
    await ledger.clock.settle()
    expect(open()).toEqual([])
    expect(ledger.state(run)).toBe('running')
    expect(ledger.agents.sent.at(-1)?.message).toContain('no-such-package is not in the registry')
  })

  test('that are requested twice by a run are one request', async () => {
    const { ask, open, table } = await atWork()
    expect(ask({ apt: ['ripgrep', 'jq'] }).id).toBe(ask({ apt: ['jq', 'ripgrep', 'jq'] }).id)
    await until(() => open().length === 1)
    expect(ask({ apt: ['jq', 'ripgrep'] })).toMatchObject({ state: 'asked' })
    expect(table.counts('coder', 0).recent).toEqual({ own: 1, total: 1 })
  })

  test('are limited in open requests and in requests within an hour', async () => {
    const { ask, open, approvals, home, ledger } = await atWork()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) home.images.registry.set(name, '1')
    for (const name of ['a', 'b', 'c']) ask({ apt: [name] })
    expect(() => ask({ apt: ['d'] })).toThrow(/are open/)
    await until(() => open().length === 3)
    for (const { id } of open()) approvals.cancel(person, id)
    for (const name of ['d', 'e', 'f']) ask({ apt: [name] })
    await until(() => open().length === 3)
    for (const { id } of open()) approvals.cancel(person, id)
    expect(() => ask({ apt: ['g'] })).toThrow(/within an hour/)
    await ledger.clock.leap(3_600_001)
    ledger.heartbeat()
    expect(home.images.resolved).toHaveLength(6)
  })

  test('that are too many together with the list of the owner are refused before any download', async () => {
    const { ask, home } = await atWork()
    home.agents['coder'] = { packages: { apt: Array.from({ length: 49 }, (_, at) => `p${at}`) } }
    expect(() => ask({ apt: ['jq', 'hello'] })).toThrow(
      expect.objectContaining({
        code: 'bad-request',
        detail: expect.stringContaining('51 packages of apt with this request, and 50 are the limit'),
      }),
    )
    expect(home.images.resolved).toEqual([])
  })

  test('of a lock that is too large are not shown to a person, and the run learns the reason', async () => {
    const { ask, open, ledger, table, home } = await atWork()
    const { resolve } = home.images
    home.images.resolve = async (...asked) => {
      const chosen = await resolve(...asked)
      const large = ' '.repeat(packageRequestLimits.lockMaxBytes)
      return { ...chosen, lock: { ...chosen.lock, npm_lock: large } }
    }
    ask()
    ledger.agents.finish('coder', { response: 'I wait.' })
    await until(() => table.byId('pack_1')?.state === 'ended')
    await ledger.clock.settle()
    expect(open()).toEqual([])
    expect(ledger.agents.sent.at(-1)?.message).toContain('would be larger than 4 MB')
  })

  test('of a deleted agent end without their lock, and still count within the hour', async () => {
    const { ask, open, table } = await atWork()
    ask({ apt: ['jq'] })
    await until(() => open().length === 1)
    table.endOfAgent('coder')
    expect(table.byId('pack_1')).toMatchObject({ state: 'ended', lock: '' })
    expect(table.counts('coder', 0)).toEqual({
      open: { own: 0, total: 0 },
      recent: { own: 1, total: 1 },
    })
  })

  test('are chosen within the limits of time and bytes', async () => {
    const { ask, home } = await atWork()
    const asked = Promise.withResolvers<unknown>()
    home.images.beforeResolve = async ({ downloadMaxBytes, timeoutMs }) =>
      asked.resolve({ downloadMaxBytes, timeoutMs })
    ask()
    expect(await asked.promise).toEqual({
      downloadMaxBytes: packageRequestLimits.downloadMaxBytes,
      timeoutMs: packageRequestLimits.resolveMaxMs,
    })
  })

  test('are not chosen on for a run that was cancelled', async () => {
    const { ask, open, home, ledger, run, table } = await atWork()
    const begun = Promise.withResolvers<AbortSignal | undefined>()
    home.images.beforeResolve = async ({ signal }) => {
      begun.resolve(signal)
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    }
    ask()
    const signal = await begun.promise
    ledger.ledger.lifecycle.cancelRun(person, run.id)
    expect(signal?.aborted).toBe(true)
    expect(table.byId('pack_1')).toMatchObject({ state: 'ended' })
    expect(open()).toEqual([])
  })

  test('go on in the next process of a mesh that was killed while it chose, at most three times', async () => {
    const { ask, killed, home, ledger, table } = await atWork()
    home.images.beforeResolve = async ({ signal }) => {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    }
    ask()
    await until(() => table.byId('pack_1')?.attempts === 1)
    killed.abort()
    const second = aProcess(ledger, home)
    await until(() => table.byId('pack_1')?.attempts === 2)
    second.killed.abort()
    home.images.beforeResolve = async () => {}
    const third = aProcess(ledger, home)
    await until(() => third.open().length === 1)
    ledger.database.exec("UPDATE package_requests SET state = 'choosing', attempts = 3")
    third.killed.abort()
    aProcess(ledger, home)
    await until(() => table.byId('pack_1')?.state === 'ended')
    expect(home.images.resolved).toHaveLength(3)
  })

  test('a confirmed request that a killed mesh interrupted is carried out once by the next process', async () => {
    const { ask, open, approvals, home, ledger } = await atWork()
    ask()
    await until(() => open().length === 1)
    const inBuild = Promise.withResolvers<void>()
    home.images.beforeInstall = () => {
      inBuild.resolve()
      return new Promise(() => {})
    }
    const { id = '', digest = '' } = open()[0] ?? {}
    // The confirmation answers while the image is built.
    expect(await approvals.confirm(person, { id, digest })).toMatchObject({ state: 'confirmed' })
    await inBuild.promise
    home.images.beforeInstall = async () => {}
    const next = aProcess(ledger, home)
    await next.approvals.resume()
    await until(() => next.open().length === 0)
    expect(home.agents['coder']).toEqual({ packages: { apt: ['ripgrep'] } })
    await next.approvals.resume()
    expect(home.images.built).toHaveLength(1)
    expect(next.approvals.list(person, { open: false, limit: 9 })).toMatchObject([{ state: 'done' }])
  })

  test('of an agent that agents created change its root ancestor, and the person is told', async () => {
    const { ask, open, confirm, home, ledger } = await atWork()
    ledger.identityEvents.makersOf.subscribe((id) => (id === 'spawn_a' ? ['coder'] : []))
    ledger.chat('spawn_a')
    await ledger.clock.settle()
    ask({ apt: ['jq'] }, 'spawn_a')
    await until(() => open().length === 1)
    expect(open()[0]).toMatchObject({ subject: 'coder', asked_by: 'agent:spawn_a' })
    expect(open()[0]?.consequences.join('\n')).toContain(
      'all agents that coder created use the packages of coder',
    )
    await confirm()
    expect(home.agents).toEqual({ coder: { packages: { apt: ['jq'] } } })
  })

  test('that the image has already, none, and too many are refused at once', async () => {
    const { ask, home } = await atWork()
    home.agents['coder'] = { packages: { apt: ['jq'] } }
    expect(() => ask({ apt: ['jq'] })).toThrow(/already/)
    expect(() => ask({})).toThrow(/1 to 20/)
    expect(() => ask({ apt: Array.from({ length: 21 }, (_, at) => `p${at}`) })).toThrow(/1 to 20/)
  })

  test('are refused at once if agents have no images of their own', async () => {
    const { ledger, home } = await atWork()
    const { ask } = aProcess(ledger, { ...home, hasImages: false })
    expect(() => ask()).toThrow(expect.objectContaining({ code: 'packages-unavailable' }))
  })

  test('a registry that does not answer is asked again, and then the run is notified', async () => {
    const { ask, home, ledger, table } = await atWork()
    home.images.beforeResolve = async () => {
      throw new SandboxError('registries-unreachable', 'No registry answers.\nRepair: wait.')
    }
    ask()
    for (const attempts of [1, 2, 3]) {
      await until(() => table.byId('pack_1')?.attempts === attempts)
      if (attempts === 3) break
      await until(() => table.next(ledger.clock.now()) === null)
      await ledger.clock.leap(packageRequestLimits.retryAfterMs)
    }
    await until(() => table.byId('pack_1')?.state === 'ended')
    expect(home.images.resolved).toHaveLength(3)
  })
})

describe('another size that an agent asks for', () => {
  test('is shown with the old one, the use and the machine, and is set when a person approves', async () => {
    const { askSize, open, confirm, home } = await atWork()
    askSize({ memory_mb: 2048, cpus: 1 })
    const [one] = open()
    expect(one?.summary).toBe(
      'change the size of agent coder from 384 MB of memory, 0.15 processors, 256 processes and 100 MB in /tmp to 2048 MB of memory, 1 processor, 256 processes and 100 MB in /tmp',
    )
    const words = one?.consequences.join('\n')
    expect(words).toContain('It used at most 300 MB.')
    expect(words).toContain('4096 MB of memory and 4 processors for all agents')
    expect(words).toContain('says: "the tests need it"')
    expect(home.agents).toEqual({})
    expect(await confirm()).toMatchObject({ state: 'done' })
    expect(home.agents).toEqual({ coder: { size: { memory_mb: 2048, cpus: 1 } } })
  })

  test.each([
    [{ memory_mb: 8192 }, 'size-unavailable', /8192 MB of memory, and this machine has 4096 MB/],
    [{ cpus: 5 }, 'size-unavailable', /5 processors, and this machine has 4/],
    [{}, 'conflict', /this size already/],
    [{ memory_mb: 384 }, 'conflict', /this size already/],
    [{ agent_id: 'ghost', memory_mb: 512 }, 'unknown-agent', /no agent ghost/],
  ])('%j is refused with the reason', async (wanted, code, detail) => {
    const { askSize, open } = await atWork()
    expect(() => askSize(wanted)).toThrow(
      expect.objectContaining({ code, detail: expect.stringMatching(detail) }),
    )
    expect(open()).toEqual([])
  })

  test('is not set if the owner changed the size meanwhile', async () => {
    const { askSize, confirm, home } = await atWork()
    askSize({ memory_mb: 2048 })
    home.agents['coder'] = { size: { memory_mb: 1024 } }
    expect(await confirm()).toMatchObject({ state: 'failed', detail: expect.stringContaining('was changed') })
    expect(home.agents['coder']).toEqual({ size: { memory_mb: 1024 } })
  })
})
