import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import type { Caller } from '../../identity/src/access/index.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createFakeChain } from './chain/fake-chain.ts'
import { createReadBalances } from './read-balances.ts'
import { createWalletTable } from './wallet-table.ts'

const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }
const never = new AbortController().signal
const own = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const scouts = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

function someBalances() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const table = createWalletTable(database)
  const read = createReadBalances({
    table,
    guard: (caller) => {
      if (caller !== owner) throw new Problem('denied')
    },
    ownSolana: () => null,
    chains: () => ['polygon', 'base'],
    chain: (name) =>
      createFakeChain(name, new Map([[scouts, 1_500_000_000_000_000_000n]]), () =>
        name === 'polygon' ? new Problem('upstream-timeout', { detail: 'no answer' }) : null,
      ),
  })
  const give = () => {
    table.keepSeed({ ownerAddress: own, nextIndex: 2 })
    table.insert({
      index: 1,
      agent_id: 'scout',
      evm: scouts,
      solana: 's',
      solana_derivation: 'hmac',
      given_at: 0,
    })
  }
  return { read, give }
}

test('a failing chain does not hide the balances of the others', async () => {
  const { read, give } = someBalances()
  give()
  const { chains, balances } = await read(owner, { agentId: undefined }, never)
  expect(chains).toEqual(['base', 'polygon'])
  expect(
    balances.map(({ chain, agent_id, coin, amount, raw, problem }) => [
      chain,
      agent_id,
      coin,
      amount,
      raw,
      problem,
    ]),
  ).toEqual([
    ['base', null, 'ETH', '0', '0', null],
    ['base', 'scout', 'ETH', '1.5', '1500000000000000000', null],
    ['polygon', null, 'POL', null, null, 'no answer'],
    ['polygon', 'scout', 'POL', null, null, 'no answer'],
  ])
  const one = await read(owner, { agentId: 'scout' }, never)
  expect(one.balances.map(({ address }) => address)).toEqual([scouts, scouts])
})

test('only an owner can read balances, with a wallet and for an agent that has an address', async () => {
  const { read, give } = someBalances()
  await expect(read({ kind: 'internal' }, { agentId: undefined }, never)).rejects.toMatchObject({
    code: 'denied',
  })
  await expect(read(owner, { agentId: undefined }, never)).rejects.toMatchObject({ code: 'no-wallet' })
  give()
  await expect(read(owner, { agentId: 'other' }, never)).rejects.toMatchObject({ code: 'unprocessable' })
})
