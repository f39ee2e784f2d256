import { Problem } from '@flotilla/protocol/problem'
import { walletLimits } from '@flotilla/protocol/wallet-api'
import type { WalletAddress, WalletStatus } from '@flotilla/protocol/wallet-api'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { lost } from './seed/seed-store.ts'
import type { SeedStore } from './seed/seed-store.ts'
import type { WalletTable } from './wallet-table.ts'

export type ManageWallet = ReturnType<typeof createManageWallet>

/** The owner's own index, for funding agents; no agent gets it. */
export const ownerIndex = 0

interface Deps extends Pick<Kernel, 'guard' | 'journal' | 'database' | 'clock' | 'settings'> {
  readonly seed: SeedStore
  readonly table: WalletTable
  /** Throws Problem `unknown-agent`. */
  readonly requireAgent: (agentId: string) => void
  readonly randomBytes: (count: number) => Buffer
}

/**
 * Manages the seed of the wallet and the agents' indexes for an owner. Problems: `denied`,
 * `no-wallet`, `wallet-locked`, `seed-revealed`; `conflict` when a seed exists, differs or is lost;
 * `unprocessable` for invalid words; `rate-limited` while another change is running.
 */
export function createManageWallet({ guard, journal, seed, table, ...deps }: Deps) {
  let changing = false

  /** Runs one change at a time: each needs a CPU and 128 MB, and two seeds must not be made at once. */
  async function alone<T>(work: () => Promise<T>): Promise<T> {
    if (changing) {
      throw new Problem('rate-limited', {
        detail: 'another request is changing the wallet; try again in a moment',
        retryAfterSeconds: 1,
      })
    }
    changing = true
    try {
      return await work()
    } finally {
      changing = false
    }
  }

  function record(caller: Caller, action: string, detail: Record<string, string | number | boolean>): void {
    journal.append({ actor: actorOf(caller), action: `wallet.${action}`, subject: 'seed', detail })
  }

  const status = (): WalletStatus => statusOf(seed, table)

  /** Writes the seed's row and audit entry, after the seed's files were written. Returns the wallet's status. */
  function keep(caller: Caller, action: 'made' | 'imported', firstIndex: number): WalletStatus {
    return deps.database.transaction(() => {
      const ownerAddress = seed.opened().evmAddress(ownerIndex)
      table.keepSeed({ ownerAddress, nextIndex: firstIndex })
      const now = status()
      record(caller, action, {
        owner_address: ownerAddress,
        passphrase: now.passphrase,
        first_index: firstIndex,
      })
      return now
    })
  }

  return {
    /** Returns the words once; they are not stored. */
    init: (caller: Caller, passphrase: string | null) => {
      guard(caller, { do: 'manage-credentials' })
      return alone(async () => {
        const state = seed.state()
        if (state === 'lost') throw lost(seed.fault() ?? '')
        if (state !== 'none') throw thereIsOne()
        const { newMnemonic } = await import('./seed/make-seed.ts')
        const mnemonic = newMnemonic(deps.randomBytes)
        await seed.put({ words: mnemonic, made: 'generated', passphrase }, () => {})
        try {
          return { mnemonic, wallet: keep(caller, 'made', ownerIndex + 1) }
        } catch (error) {
          // The caller will not get the words, so the seed is discarded. Its row failed, for example on a full disk.
          await seed.discard().catch(() => undefined)
          throw error
        }
      })
    },
    /** Always throws: the words are shown only once, when the seed is made. */
    reveal: (caller: Caller): never => {
      guard(caller, { do: 'manage-credentials' })
      throw new Problem(seed.state() === 'none' ? 'no-wallet' : 'seed-revealed')
    },
    /**
     * Seals the seed of the same words again, with another passphrase or none, and restores a lost seed. Other words
     * replace the seed only while no agent has an address of it.
     */
    import: (
      caller: Caller,
      given: {
        readonly mnemonic: string
        readonly passphrase: string | null
        readonly firstIndex: number | undefined
      },
    ) => {
      guard(caller, { do: 'manage-credentials' })
      return alone(async () => {
        const { isMnemonic, plainMnemonic } = await import('./seed/make-seed.ts')
        const words = plainMnemonic(given.mnemonic)
        if (!isMnemonic(words)) throw noWords()
        await seed.put({ words, made: 'imported', passphrase: given.passphrase }, (ownerAddress) => {
          const before = table.seed()?.ownerAddress ?? ownerAddress
          if (before === ownerAddress || table.count() === 0) {
            // The row precedes the final files: the words can restore the files, but not the first index.
            table.keepSeed({ ownerAddress, nextIndex: given.firstIndex ?? ownerIndex + 1 })
            return
          }
          throw new Problem('conflict', {
            detail: `these words belong to the seed of ${ownerAddress}, but agents have addresses from the seed of ${before}`,
            repair:
              'Import the words of the seed that flotilla wallet status shows, or use a separate home for the other seed.',
          })
        })
        return keep(caller, 'imported', given.firstIndex ?? ownerIndex + 1)
      })
    },
    unlock: (caller: Caller, passphrase: string) => {
      guard(caller, { do: 'manage-credentials' })
      return alone(async () => {
        if (seed.state() !== 'locked') {
          seed.opened()
          return status()
        }
        if (!(await seed.unlock(passphrase))) {
          record(caller, 'not-unlocked', {})
          throw new Problem('unprocessable', {
            detail: 'this passphrase does not open the wallet',
            repair:
              'Try again; if the passphrase is lost, import the seed words again with flotilla wallet import.',
          })
        }
        record(caller, 'unlocked', {})
        return status()
      })
    },
    status: (caller: Caller): WalletStatus => {
      guard(caller, { do: 'manage-credentials' })
      return status()
    },
    addresses: (caller: Caller): readonly WalletAddress[] => {
      guard(caller, { do: 'manage-credentials' })
      return table.list(walletLimits.listedMax)
    },
    /** Returns the addresses of an agent. An agent without addresses gets the next index permanently. */
    give: (caller: Caller, agentId: string): WalletAddress => {
      guard(caller, { do: 'manage-credentials' })
      deps.requireAgent(agentId)
      return deps.database.transaction(() => {
        const found = table.find(agentId)
        if (found !== null) return found
        const open = seed.opened()
        const memo = table.seed()
        if (memo === null) throw new Problem('no-wallet')
        const index = memo.nextIndex
        if (index > walletLimits.indexMax) {
          throw new Problem('unprocessable', { detail: 'all indexes of this seed are in use' })
        }
        const derivation = deps.settings().wallet.solana_derivation
        const given = {
          agent_id: agentId,
          index,
          evm: open.evmAddress(index),
          solana: open.solanaAddress(index, derivation),
          given_at: deps.clock.now(),
        }
        table.keepSeed({ ...memo, nextIndex: index + 1 })
        table.insert({ ...given, solana_derivation: derivation })
        record(caller, 'address-given', given)
        return { ...given, agent_gone_at: null }
      })
    },
  }
}

function statusOf(seed: SeedStore, table: WalletTable): WalletStatus {
  const header = seed.header()
  return {
    state: seed.state(),
    fault: seed.fault(),
    made: header?.made ?? null,
    made_at: header?.made_at ?? null,
    passphrase: seed.hasPassphrase(),
    owner_address: header?.owner_address ?? table.seed()?.ownerAddress ?? null,
    addresses: table.count(),
  }
}

function thereIsOne(): Problem {
  return new Problem('conflict', {
    detail: 'a wallet already exists, and its words are not shown again',
    repair:
      'See the wallet with flotilla wallet status. If its words were never written down and no agent has an address yet, flotilla wallet import replaces its seed.',
  })
}

function noWords(): Problem {
  return new Problem('unprocessable', {
    detail:
      'these are not the words of a seed: a seed has 12, 15, 18, 21 or 24 words of the English BIP-39 list, and the last word is a checksum',
    repair: 'Compare the words and their order with what you wrote down, letter by letter.',
  })
}
