import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { walletApi, walletEndpoints } from '@flotilla/protocol/wallet-api'
import type { WalletAddress } from '@flotilla/protocol/wallet-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { evmAddress, solanaAddress } from '../../packages/wallet/src/seed/derive-keys.ts'
import { isMnemonic, seedOf } from '../../packages/wallet/src/seed/make-seed.ts'
import { createCanaryHunt } from '../support/canary-hunt.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { verifies } from '../verifies.ts'

const passphrase = 'kestrel over Finistere'
const backupPassphrase = 'a long sentence that nobody guesses'
const commandMs = patient(120_000)

let mesh: MeshProcess
let folder: string
/** The mnemonic from the only reply that contains it. */
let mnemonic = ''
let seed: Buffer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-wallet-'))
  mesh = await startMesh()
  await mesh.createWorker('scout')
})
afterAll(async () => {
  await mesh?.stop()
  await rm(folder, { recursive: true, force: true })
})

const cli = (words: string, input = '') =>
  flotilla({ url: mesh.url, home: mesh.home, input }, 'wallet', ...words.split(' '))
const status = async () =>
  walletApi.walletStatus.response.parse((await mesh.call(walletEndpoints.walletStatus)).json())
const give = (agentId: string) =>
  mesh.call(walletEndpoints.walletAddressGive, { body: { agent_id: agentId } })
const expected = (index: number): Partial<WalletAddress> => ({
  index,
  evm: evmAddress(seed, index),
  solana: solanaAddress(seed, index, 'hmac'),
})

describe('the wallet of a fleet', () => {
  it('the wallet of a fleet is not there before it is made, and says how it is made', async () => {
    expectProblem(await mesh.call(walletEndpoints.walletSeed), 'no-wallet')
    expectProblem(await give('scout'), 'no-wallet')
    const told = await cli('status')
    expect(told.out).toContain('flotilla wallet init')
  })

  it('the wallet of a fleet is made once: its words are in that one answer, which nothing on the way may keep', async () => {
    verifies(
      'endpoints:wallet:init',
      'endpoints:wallet:init-no-store',
      'endpoints:wallet:init-response',
      'states:wallet-seed:revealed-once',
      'states:wallet-seed:mnemonic-once',
      'states:wallet-seed:mnemonic-no-store',
    )
    const made = await mesh.call(walletEndpoints.walletInit, { body: { passphrase } })
    expect(made.status).toBe(200)
    expect(made.headers['cache-control']).toBe('no-store')
    const reply = walletApi.walletInit.response.parse(made.json())
    mnemonic = reply.mnemonic
    seed = await seedOf(mnemonic)
    expect(mnemonic.split(' ')).toHaveLength(24)
    expect(isMnemonic(mnemonic)).toBe(true)
    expect(reply.wallet).toMatchObject({
      state: 'open',
      passphrase: true,
      owner_address: evmAddress(seed, 0),
    })
    expectProblem(await mesh.call(walletEndpoints.walletInit, { body: {} }), 'conflict')
    for (const file of ['wallet-seed', 'wallet-key']) {
      expect((await stat(join(mesh.home, 'data', file))).mode & 0o777).toBe(0o600)
    }
  })

  it('the wallet of a fleet says where nothing had stopped it that there was nothing to resume', async () => {
    expect((await cli('resume')).out).toMatch(/^The wallet was not stopped\.\n/)
    expect(JSON.parse((await cli('resume --json')).out)).toMatchObject({ stopped: null, was_stopped: null })
  })

  it('the wallet of a fleet gives each agent an index of its own, and none a second time', async () => {
    const first = await cli('addresses scout')
    expect(first.out).toContain(evmAddress(seed, 1))
    expect(first.out).toContain(solanaAddress(seed, 1, 'hmac'))
    expect((await give('scout')).json()).toMatchObject(expected(1))
    const deleted = await mesh.call(controlEndpoints.agentDelete, { params: { id: 'scout' } })
    expect(deleted.status, deleted.text).toBe(200)
    await mesh.createWorker('scout')
    // A new agent with the same name gets another address: the money of the deleted agent is not its own.
    expect((await give('scout')).json()).toMatchObject(expected(2))
    const listed = await cli('addresses')
    expect(listed.out).toMatch(/scout \(deleted\) +1 /)
    expect(listed.out).toMatch(/scout +2 /)
  })

  it(
    'a wallet survives a kill, stays locked until its passphrase is given, and never shows its words again',
    async () => {
      verifies(
        'endpoints:wallet:seed-gone',
        'states:wallet-seed:gone',
        'states:wallet-seed:no-second-reveal',
        'errors:wallet-seed',
      )
      const before = await status()
      // Core dumps of the process contain none of its memory.
      expect(await readFile(`/proc/${mesh.pid}/coredump_filter`, 'utf8')).toMatch(/^0+\n$/)
      const revealed = async () => {
        const reply = await mesh.call(walletEndpoints.walletSeed)
        expectProblem(reply, 'seed-revealed')
        expect(reply.status).toBe(410)
      }
      await revealed()
      await mesh.kill9()
      await mesh.restart()
      expect(mesh.log()).toContain(
        'The wallet signs no payments: the seed of the wallet is locked. Next: flotilla wallet unlock',
      )
      expect((await flotilla({ url: mesh.url, home: mesh.home }, 'status')).out).toContain(
        'The wallet signs no payments: the seed of the wallet is locked. Next: flotilla wallet unlock',
      )
      expect(await status()).toEqual({ ...before, state: 'locked' })
      await revealed()
      await mesh.createWorker('second')
      expectProblem(await give('second'), 'wallet-locked')
      const wrong = await cli('unlock', 'kestrel over finistere\n')
      expect(wrong.code).not.toBe(0)
      expect(wrong.err).toContain('does not open the wallet')
      const opened = await cli('unlock', `${passphrase}\n`)
      expect(opened, opened.err).toMatchObject({ code: 0 })
      expect((await give('second')).json()).toMatchObject(expected(3))
      await revealed()
      expect(await status()).toEqual({ ...before, addresses: 3 })
    },
    commandMs,
  )

  it(
    'the wallet of a fleet is in no file, row, log, answer or readable backup of the fleet in clear',
    async () => {
      verifies('endpoints:wallet:keys-stay-in-mesh')
      const words = mnemonic.split(' ')
      const hunt = createCanaryHunt([
        ...words.slice(2).map((_word, at) => ({
          name: `words from ${at}`,
          value: words.slice(at, at + 3).join(' '),
        })),
        { name: 'passphrase', value: passphrase },
        { name: 'seed', value: seed.toString('hex') },
        { name: 'seed', value: seed.toString('base64').slice(0, 84) },
      ])
      const raw: string[] = []
      const searchRaw = (place: string, bytes: Buffer) => {
        if (bytes.includes(seed.subarray(0, 32)) || bytes.includes(seed.subarray(32))) raw.push(place)
      }
      const backups = {
        without: ['--without-secrets'],
        plain: ['--secrets-in-plain'],
        closed: [],
      } as const
      for (const [name, options] of Object.entries(backups)) {
        const made = await flotilla(
          {
            home: mesh.home,
            ...(name === 'closed' ? { environment: { FLOTILLA_BACKUP_PASSPHRASE: backupPassphrase } } : {}),
          },
          'backup',
          join(folder, name),
          ...options,
        )
        expect(made, made.err).toMatchObject({ code: 0 })
      }
      for (const place of [mesh.home, folder]) {
        await hunt.searchFolder(place)
        for (const entry of await readdir(place, { withFileTypes: true, recursive: true })) {
          const path = join(entry.parentPath, entry.name)
          if (entry.isFile()) searchRaw(path, await readFile(path))
        }
      }
      hunt.searchDatabase(join(mesh.home, 'data', 'mesh.db'))
      hunt.search('the log', mesh.log())
      for (const endpoint of [
        walletEndpoints.walletStatus,
        walletEndpoints.walletAddresses,
        walletEndpoints.walletSeed,
        journalEndpoints.journalExport,
        meshHumanEndpoints.status,
        { method: 'GET', path: '/api/credentials', summary: '' },
        { method: 'GET', path: '/metrics', summary: '' },
      ] as const) {
        hunt.search(endpoint.path, (await mesh.call(endpoint)).text)
      }
      expect(hunt.findings()).toEqual([])
      expect(raw).toEqual([])
      // The search works: it finds the words in the one answer that contains them.
      const proof = createCanaryHunt([{ name: 'words', value: words.slice(0, 3).join(' ') }])
      proof.search('the answer', mnemonic)
      expect(proof.findings().length).toBeGreaterThan(0)
    },
    commandMs,
  )

  it(
    'the wallet of a fleet comes along in an encrypted backup, and in no other',
    async () => {
      for (const [name, isThere] of [
        ['plain', false],
        ['closed', true],
      ] as const) {
        const home = join(folder, `home-${name}`)
        const restored = await flotilla(
          { home, environment: { FLOTILLA_BACKUP_PASSPHRASE: name === 'closed' ? backupPassphrase : '' } },
          'restore',
          join(folder, name),
        )
        expect(restored, restored.err).toMatchObject({ code: 0 })
        for (const file of ['wallet-seed', 'wallet-key']) {
          const path = join(home, 'data', file)
          expect(existsSync(path), `${name} ${file}`).toBe(isThere)
          if (isThere) expect(await readFile(path)).toEqual(await readFile(join(mesh.home, 'data', file)))
        }
      }
    },
    commandMs,
  )

  it(
    'a wallet whose files are lost creates no replacement, and is restored only by its words',
    async () => {
      const before = (await mesh.call(walletEndpoints.walletAddresses)).json()
      await mesh.terminate()
      await rm(join(mesh.home, 'data', 'wallet-key'))
      await mesh.restart()
      expect(await status()).toMatchObject({ state: 'lost', owner_address: evmAddress(seed, 0) })
      expectProblem(await mesh.call(walletEndpoints.walletInit, { body: {} }), 'conflict')
      const other = await cli('import', `${'abandon '.repeat(23)}art\n`)
      expect(other.err).toContain(`agents have addresses from the seed of ${evmAddress(seed, 0)}`)
      const back = await cli('import', `${mnemonic.toUpperCase()}\n`)
      expect(back, back.err).toMatchObject({ code: 0 })
      expect(`${back.out}${back.err}`.toLowerCase()).not.toContain(mnemonic.slice(0, 20))
      await mesh.createWorker('third')
      expect((await give('third')).json()).toMatchObject(expected(4))
      const after = walletApi.walletAddresses.response.parse(
        (await mesh.call(walletEndpoints.walletAddresses)).json(),
      )
      expect({ addresses: after.addresses.slice(1) }).toEqual(before)
    },
    commandMs,
  )
})
