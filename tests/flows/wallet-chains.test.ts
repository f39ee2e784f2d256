import { walletApi, walletEndpoints } from '@flotilla/protocol/wallet-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPinnedFetch } from '../../packages/egress/src/egress/fetch/pinned-fetch.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { describeChain } from '../../packages/wallet/src/chain/chain.conformance.ts'
import { createEvmChain } from '../../packages/wallet/src/chain/evm-chain.ts'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const rich = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const hasRaw = 12_345_000_000_000_000_000_001n

describe.skipIf(anvilProgram === null)('a fleet beside a real chain of the EVM', () => {
  let anvil: Anvil
  let mesh: MeshProcess

  beforeAll(async () => {
    anvil = await startAnvil(11_155_111)
    await anvil.rpc('anvil_setBalance', [rich, `0x${hasRaw.toString(16)}`])
    mesh = await startMesh({
      settings: {
        egress: { allowed_private: [anvil.place] },
        wallet: {
          chains: {
            sepolia: { rpc_url: anvil.url },
            // The endpoint serves another chain than the settings say.
            base: { rpc_credential: 'rpc_of_base' },
            // The egress filter does not allow this address.
            polygon: { rpc_url: 'http://127.0.0.1/v2/key-of-polygon' },
          },
        },
      },
      environment: { FLOTILLA_SYSTEM_RPC_OF_BASE: `${anvil.url}/?key=key-of-base` },
    })
    await mesh.createWorker('scout')
  })
  afterAll(async () => {
    await mesh?.stop()
    await anvil?.close()
  })

  describeChain('over JSON-RPC', async () => ({
    chain: createEvmChain({
      name: 'sepolia',
      rpc: () => new URL(anvil.url),
      clock: systemClock,
      fetch: createPinnedFetch({
        resolve: async () => [],
        isAllowed: () => true,
        allowedPorts: [Number(new URL(anvil.url).port)],
      }),
    }),
    rich,
    poor: '0x00000000000000000000000000000000000000AA',
    alsoRich: [rich.toLowerCase()],
    hasRaw,
    close: async () => {},
  }))

  it('the owner sees the balance of each address, fetched through the egress filter, of the configured chain only', async () => {
    const cli = () => flotilla({ url: mesh.url, home: mesh.home }, 'wallet', 'balances')
    expect((await cli()).err).toContain('flotilla wallet init')
    // The seed of development chains: its index 1 is `rich`.
    await mesh.call(walletEndpoints.walletImport, { body: { mnemonic: `${'test '.repeat(11)}junk` } })
    await mesh.call(walletEndpoints.walletAddressGive, { body: { agent_id: 'scout' } })
    const reply = await mesh.call(walletEndpoints.walletBalances, { query: { agent_id: 'scout' } })
    const { balances } = walletApi.walletBalances.response.parse(reply.json())
    expect(
      balances.map(({ chain, address, raw, amount, problem }) => [chain, address, raw, amount, problem]),
    ).toEqual([
      [
        'base',
        rich,
        null,
        null,
        'the RPC endpoint of base failed: the endpoint serves chain 11155111, not 8453',
      ],
      ['polygon', rich, null, null, '127.0.0.1 is not a public address'],
      ['sepolia', rich, String(hasRaw), '12345.000000000000000001', null],
    ])
    expect(reply.text).not.toContain('key-of')
    expect(mesh.log()).not.toContain('key-of')
    const told = await cli()
    expect(told, told.err).toMatchObject({ code: 0 })
    expect(told.out).toMatch(/sepolia +you +0 +0xf39F/)
    expect(told.out).toMatch(/sepolia +scout +1 +0x7099\w+ +12345\.000000000000000001 ETH/)
  })

  it('an agent sees only its own address, and only if a person allowed it', async () => {
    const told = async (tool: string, chain: string) =>
      JSON.stringify((await mesh.invoke('scout', tool, { chain })).outcome)
    expect(await told('wallet_balance', 'sepolia')).toContain('can_use_wallet')
    await editPermissions(mesh, 'scout', { can_use_wallet: true, wallet_allowed_chains: ['sepolia', 'base'] })
    expect(await told('wallet_address', 'sepolia')).toContain(rich)
    expect(await told('wallet_balance', 'sepolia')).toContain('12345.000000000000000001')
    expect(await told('wallet_balance', 'polygon')).toContain('wallet_allowed_chains')
    const other = await told('wallet_balance', 'base')
    expect(other).toContain('the RPC endpoint of base failed')
    expect(other).not.toContain(anvil.place)
  })
})
