import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { walletLimits } from '@flotilla/protocol/wallet-api'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import type { Caller } from '../../identity/src/access/index.ts'
import { defaultSettings } from '../../foundation/src/config/settings-file.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createManageWallet } from './manage-wallet.ts'
import { createSeedFiles } from './seed/seed-files.ts'
import { createSeedStore } from './seed/seed-store.ts'
import { createWalletTable } from './wallet-table.ts'

const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }
const agent: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const abandon = `${'abandon '.repeat(11)}about`
const junk = `${'test '.repeat(11)}junk`

/** A home whose rows and files survive a restart; `start` starts the next process. */
async function aHome(seedName = 'wallet-seed') {
  const folder = await mkdtemp(join(tmpdir(), 'wallet-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = createManualClock()
  const journal: unknown[] = []
  /** What the next row of the audit log throws, once. */
  const faults: Error[] = []
  const table = createWalletTable(database)
  const paths = { seedPath: join(folder, seedName), keyPath: join(folder, 'wallet-key') }
  async function start(derivation: 'hmac' | 'slip-10' = 'hmac') {
    const files = createSeedFiles({ ...paths, log: silentLog })
    const seed = createSeedStore({ files, now: clock.now, randomBytes })
    await seed.load(table.seed()?.ownerAddress ?? null)
    return createManageWallet({
      database,
      clock,
      seed,
      table,
      randomBytes,
      settings: () => ({
        ...defaultSettings,
        wallet: { ...defaultSettings.wallet, solana_derivation: derivation },
      }),
      requireAgent: (agentId) => {
        if (agentId === 'nobody') throw new Problem('unknown-agent')
      },
      journal: {
        append: (entry) => {
          const fault = faults.pop()
          if (fault !== undefined) throw fault
          journal.push(entry)
        },
      },
      guard: (caller, action) => {
        if (caller.kind !== 'human' || action.do !== 'manage-credentials') throw new Problem('denied')
      },
    })
  }
  return { folder, paths, table, journal, faults, clock, start }
}

const entry = (action: string, detail: object) => ({ actor: 'human:cli', action, subject: 'seed', detail })
const words = (mnemonic: string, firstIndex?: number) => ({ mnemonic, passphrase: null, firstIndex })

describe('the seed', () => {
  test('concurrent requests create one seed, and only its creator sees the words', async () => {
    const home = await aHome()
    const wallet = await home.start()
    const all = await Promise.allSettled([1, 2, 3].map(async () => wallet.init(owner, null)))
    const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    expect(made).toHaveLength(1)
    for (const one of all.filter(({ status }) => status === 'rejected')) {
      expect(one).toMatchObject({
        reason: {
          code: 'rate-limited',
          detail: 'another request is changing the wallet; try again in a moment',
          retryAfterSeconds: 1,
        },
      })
    }
    expect(made[0]?.mnemonic.split(' ')).toHaveLength(24)
    await expect(wallet.init(owner, null)).rejects.toMatchObject({
      code: 'conflict',
      detail: 'a wallet already exists, and its words are not shown again',
    })
    expect(() => wallet.reveal(owner)).toThrow(expect.objectContaining({ code: 'seed-revealed' }))
    const next = await home.start()
    expect(next.status(owner)).toEqual({ ...made[0]?.wallet, state: 'open' })
    await expect(next.init(owner, null)).rejects.toMatchObject({ code: 'conflict' })
    expect(() => next.reveal(owner)).toThrow(expect.objectContaining({ code: 'seed-revealed' }))
    const [first] = made
    const seen = `${JSON.stringify(home.journal)}${await readFile(home.paths.seedPath, 'utf8')}`
    const told = first?.mnemonic.split(' ') ?? []
    // Some seed words are also field names, such as `subject`; two of them in order are not.
    const letters = seen.replaceAll(/[^a-z]+/g, ' ')
    for (const [at, word] of told.slice(1).entries()) expect(letters).not.toContain(`${told[at]} ${word}`)
  })

  test('without a seed nothing is shown, unlocked or given', async () => {
    const wallet = await (await aHome()).start()
    expect(wallet.status(owner)).toEqual({
      state: 'none',
      fault: null,
      made: null,
      made_at: null,
      passphrase: false,
      owner_address: null,
      addresses: 0,
    })
    expect(() => wallet.reveal(owner)).toThrow(expect.objectContaining({ code: 'no-wallet' }))
    await expect(wallet.unlock(owner, '')).rejects.toMatchObject({ code: 'no-wallet' })
  })

  test('the audit log holds each change of the seed with its actor, and never the words', async () => {
    const home = await aHome()
    const wallet = await home.start()
    await wallet.init(owner, null)
    expect(await wallet.unlock(owner, 'whatever')).toMatchObject({ state: 'open', fault: null })
    await wallet.import(owner, words(junk))
    const { agent_gone_at: _gone, ...given } = wallet.give(owner, 'scout')
    const made = { passphrase: false, first_index: 1 }
    expect(home.journal).toEqual([
      entry('wallet.made', { ...made, owner_address: expect.any(String) }),
      entry('wallet.imported', { ...made, owner_address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' }),
      entry('wallet.address-given', given),
    ])
    expect(wallet.status(owner)).toMatchObject({
      made_at: home.clock.now(),
      passphrase: false,
      addresses: 1,
    })
  })

  test('a seed with files from another home is unlocked but gives no address without its own row', async () => {
    const [home, other] = [await aHome(), await aHome()]
    await (await other.start()).import(owner, words(junk))
    for (const name of ['seedPath', 'keyPath'] as const) {
      await writeFile(home.paths[name], await readFile(other.paths[name]))
    }
    const wallet = await home.start()
    expect(wallet.status(owner)).toMatchObject({ state: 'open' })
    expect(() => wallet.give(owner, 'scout')).toThrow(expect.objectContaining({ code: 'no-wallet' }))
  })

  test('a failed write of the seed does not change the next index', async () => {
    const home = await aHome()
    const wallet = await home.start()
    await rm(home.folder, { recursive: true })
    await writeFile(home.folder, 'in its place')
    await expect(wallet.import(owner, words(junk))).rejects.toThrow(/ENOTDIR|EEXIST/)
    expect(home.table.seed()).toBeNull()
  })

  test('a seed stays whole if the disk refuses the second file of the one that replaces it', async () => {
    // A new file beside this one would have a name that is too long.
    const home = await aHome('s'.repeat(240))
    const other = await aHome()
    await (await other.start()).import(owner, words(abandon))
    for (const name of ['seedPath', 'keyPath'] as const) {
      await writeFile(home.paths[name], await readFile(other.paths[name]))
    }
    const before = home.table.seed()
    const wallet = await home.start()
    await expect(wallet.import(owner, words(junk))).rejects.toThrow('ENAMETOOLONG')
    expect(home.table.seed()).toEqual(before)
    const kept = { state: 'open', owner_address: '0x9858EfFD232B4033E47d90003D41EC34EcaEda94' }
    expect(wallet.status(owner)).toMatchObject(kept)
    expect((await home.start()).status(owner)).toMatchObject(kept)
    expect((await readdir(home.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test('a first seed is made after a process that wrote its key alone, and that key is kept', async () => {
    const [home, other] = [await aHome(), await aHome()]
    await (await other.start()).import(owner, words(junk))
    const key = await readFile(other.paths.keyPath, 'utf8')
    await writeFile(home.paths.keyPath, key)
    const wallet = await home.start()
    expect(wallet.status(owner)).toMatchObject({ state: 'none', fault: null })
    expect(await wallet.init(owner, null)).toMatchObject({ wallet: { state: 'open' } })
    expect(await readFile(home.paths.keyPath, 'utf8')).toBe(key)
  })

  test('a seed whose row could not be written is not kept, and the next one is shown', async () => {
    const home = await aHome()
    const wallet = await home.start()
    home.faults.push(new Error('database or disk is full'))
    await expect(wallet.init(owner, null)).rejects.toThrow('full')
    expect(wallet.status(owner)).toMatchObject({ state: 'none', owner_address: null })
    expect((await home.start()).status(owner)).toMatchObject({ state: 'none' })
    const { mnemonic, wallet: made } = await wallet.init(owner, null)
    expect(mnemonic.split(' ')).toHaveLength(24)
    expect((await home.start()).status(owner)).toEqual(made)
  })

  test('every change of the seed is denied to callers that are not owners, before anything else', async () => {
    const wallet = await (await aHome()).start()
    const ways = [
      () => wallet.init(agent, null),
      () => wallet.reveal(agent),
      () => wallet.import(agent, words('none')),
      () => wallet.unlock(agent, ''),
      () => wallet.status(agent),
      () => wallet.addresses(agent),
      () => wallet.give(agent, 'nobody'),
    ]
    for (const way of ways) expect(way).toThrow(expect.objectContaining({ code: 'denied' }))
  })

  test('the seed is in two files that only the owner can read, and wider file modes are corrected', async () => {
    const home = await aHome()
    await (await home.start()).init(owner, null)
    const modes = async () =>
      Promise.all(Object.values(home.paths).map(async (path) => (await stat(path)).mode & 0o777))
    expect((await readdir(home.folder)).toSorted()).toEqual(['wallet-key', 'wallet-seed'])
    expect(await modes()).toEqual([0o600, 0o600])
    for (const path of Object.values(home.paths)) await chmod(path, 0o644)
    await home.start()
    expect(await modes()).toEqual([0o600, 0o600])
  })

  test('the seed is locked after a start, and only its passphrase unlocks it', async () => {
    const home = await aHome()
    const { wallet: made } = await (await home.start()).init(owner, 'correct horse')
    expect(made).toMatchObject({ state: 'open', passphrase: true })
    const wallet = await home.start()
    expect(wallet.status(owner)).toEqual({ ...made, state: 'locked' })
    expect(() => wallet.give(owner, 'scout')).toThrow(expect.objectContaining({ code: 'wallet-locked' }))
    await expect(wallet.unlock(owner, 'correct horsE')).rejects.toMatchObject({
      code: 'unprocessable',
      detail: 'this passphrase does not open the wallet',
    })
    expect(wallet.status(owner).state).toBe('locked')
    expect(await wallet.unlock(owner, 'correct horse')).toMatchObject({ state: 'open' })
    expect(wallet.give(owner, 'scout')).toMatchObject({ index: 1 })
    expect(JSON.stringify(home.journal)).not.toContain('horse')
    expect(home.journal.slice(1, 3)).toEqual([entry('wallet.not-unlocked', {}), entry('wallet.unlocked', {})])
  })

  test.each([
    ['the key is gone', ({ keyPath }: Paths) => rm(keyPath)],
    ['the seed is gone', ({ seedPath }: Paths) => rm(seedPath)],
    [
      'both are gone',
      async ({ keyPath, seedPath }: Paths) => {
        await rm(keyPath)
        await rm(seedPath)
      },
    ],
    ['the key is cut off', ({ keyPath }: Paths) => writeFile(keyPath, 'AAAA\n')],
    ['the key is another', ({ keyPath }: Paths) => writeFile(keyPath, `${'A'.repeat(43)}\n`)],
    ['the seed is no JSON', ({ seedPath }: Paths) => writeFile(seedPath, '{')],
  ])('a seed is lost where %s: no new one replaces it, and its words restore it', async (_what, harm) => {
    const home = await aHome()
    const before = await home.start()
    await before.import(owner, words(junk))
    const given = before.give(owner, 'scout')
    await harm(home.paths)
    const wallet = await home.start()
    expect(wallet.status(owner)).toMatchObject({
      state: 'lost',
      owner_address: expect.stringMatching(/^0xf39F/),
    })
    const { fault } = wallet.status(owner)
    const lost = { code: 'conflict', detail: `the seed of the wallet cannot be read: ${fault}` }
    await expect(wallet.init(owner, null)).rejects.toMatchObject(lost)
    expect(() => wallet.give(owner, 'other')).toThrow(expect.objectContaining(lost))
    await expect(wallet.import(owner, words(abandon))).rejects.toMatchObject({
      code: 'conflict',
      detail: `these words belong to the seed of 0x9858EfFD232B4033E47d90003D41EC34EcaEda94, but agents have addresses from the seed of 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`,
    })
    await wallet.import(owner, words(junk))
    const next = await home.start()
    expect(next.give(owner, 'scout')).toEqual(given)
    expect(next.give(owner, 'other')).toMatchObject({ index: 2 })
  })

  test("a seed of another home is not accepted in place of this home's own", async () => {
    const home = await aHome()
    const wallet = await home.start()
    await wallet.import(owner, words(junk))
    wallet.give(owner, 'scout')
    const other = await aHome()
    await (await other.start()).import(owner, words(abandon))
    await writeFile(home.paths.seedPath, await readFile(other.paths.seedPath))
    await writeFile(home.paths.keyPath, await readFile(other.paths.keyPath))
    const now = (await home.start()).status(owner)
    expect(now).toMatchObject({ state: 'lost', fault: expect.stringContaining('0xf39F') })
  })

  test('a seed can be replaced by other words only while no agent has an address', async () => {
    const home = await aHome()
    const wallet = await home.start()
    await wallet.init(owner, null)
    await expect(wallet.import(owner, words('not words'))).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('these are not the words of a seed'),
    })
    expect(await wallet.import(owner, words(abandon))).toMatchObject({ made: 'imported' })
    wallet.give(owner, 'scout')
    await expect(wallet.import(owner, words(junk))).rejects.toMatchObject({ code: 'conflict' })
    expect((await home.start()).status(owner)).toMatchObject({
      state: 'open',
      owner_address: '0x9858EfFD232B4033E47d90003D41EC34EcaEda94',
    })
  })
})

type Paths = Awaited<ReturnType<typeof aHome>>['paths']

describe('an index', () => {
  test('an agent keeps its index forever, and the first index belongs to the owner', async () => {
    const home = await aHome()
    const wallet = await home.start()
    expect(() => wallet.give(owner, 'scout')).toThrow(expect.objectContaining({ code: 'no-wallet' }))
    await wallet.import(owner, words(junk))
    expect(() => wallet.give(owner, 'nobody')).toThrow(expect.objectContaining({ code: 'unknown-agent' }))
    const given = wallet.give(owner, 'scout')
    expect(given).toMatchObject({ index: 1, evm: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' })
    // Existing addresses keep their derivation; later ones follow the setting.
    const next = await home.start('slip-10')
    expect(next.give(owner, 'scout')).toEqual(given)
    expect(next.give(owner, 'other').solana).not.toBe((await home.start('hmac')).give(owner, 'third').solana)
    expect(next.addresses(owner).map(({ index }) => index)).toEqual([3, 2, 1])
  })

  test('indexes start above those that another fleet has given out', async () => {
    const home = await aHome()
    const wallet = await home.start()
    await wallet.import(owner, words(junk, 40))
    expect(wallet.give(owner, 'scout').index).toBe(40)
    // A second import does not lower the next index.
    await wallet.import(owner, words(junk, 7))
    expect(wallet.give(owner, 'other').index).toBe(41)
  })

  test('the last index is given once, and no index follows it', async () => {
    const wallet = await (await aHome()).start()
    await wallet.import(owner, words(junk, walletLimits.indexMax))
    expect(wallet.give(owner, 'scout').index).toBe(walletLimits.indexMax)
    expect(() => wallet.give(owner, 'other')).toThrow(
      expect.objectContaining({ code: 'unprocessable', detail: 'all indexes of this seed are in use' }),
    )
  })

  test('an index is never given to a second agent, after any sequence of creations, deletions and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ do: fc.constant('give' as const), who: fc.constantFrom('a', 'b', 'c') }),
            fc.record({ do: fc.constant('leave' as const), who: fc.constantFrom('a', 'b', 'c') }),
            fc.record({ do: fc.constant('start' as const), who: fc.constant('') }),
            fc.record({ do: fc.constant('import' as const), who: fc.constant('') }),
          ),
          { maxLength: 12 },
        ),
        async (steps) => {
          const home = await aHome()
          let wallet = await home.start()
          await wallet.import(owner, words(junk))
          /** Each incarnation of an agent has its own holder name. */
          const lives = new Map<string, number>()
          const holders = new Map<number, string>()
          for (const { do: step, who } of steps) {
            const life = `${who}${lives.get(who) ?? 0}`
            if (step === 'start') wallet = await home.start()
            else if (step === 'import') await wallet.import(owner, words(junk, 1))
            else if (step === 'leave') {
              home.table.leave(who, 5)
              lives.set(who, (lives.get(who) ?? 0) + 1)
            } else {
              const { index } = wallet.give(owner, who)
              expect(index).toBeGreaterThan(0)
              expect(holders.get(index) ?? life).toBe(life)
              holders.set(index, life)
            }
          }
          expect(new Set(holders.values()).size).toBe(holders.size)
        },
      ),
      { numRuns: 30 },
    )
  })
})
