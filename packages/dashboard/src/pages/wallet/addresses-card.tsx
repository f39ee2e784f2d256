import { Link } from 'wouter'
import type { WalletAddress, WalletBalance } from '@flotilla/protocol/wallet-api'
import { useMesh } from '../../data/use-mesh.ts'
import { Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'

/** The minimum interval between automatic requests to chains; the button asks immediately. */
const balancesFreshMs = 60_000

/** The addresses of agents with their balances in the native coins of the chains. */
export function Addresses({ owner }: { readonly owner: string | null }) {
  const given = useMesh('walletAddresses')
  const held = useMesh('walletBalances', {}, { staleTime: balancesFreshMs })
  const balances = held.data?.balances ?? []
  const own = balances.filter(({ agent_id: agent }) => agent === null)
  return (
    <Card
      title="Addresses"
      more={
        <button
          type="button"
          className="button small"
          disabled={held.isFetching}
          onClick={() => void held.refetch()}
        >
          {held.isFetching ? 'Asking the chains …' : 'Ask the chains again'}
        </button>
      }
    >
      {given.isPending && <Loading />}
      {given.error && <Failed error={given.error} retry={given.refetch} />}
      {held.error && <Failed error={held.error} retry={held.refetch} />}
      {held.data?.chains.length === 0 && (
        <Empty title="No chain is set up">
          Enter the RPC endpoint of a chain under <code>wallet.chains</code> of{' '}
          <code>config/settings.json</code>to see the balances of the addresses here.
        </Empty>
      )}
      <Troubles balances={balances} />
      {given.data && (
        <Table
          label="Table of addresses"
          columns={['Whose', 'On EVM chains', 'On Solana', { right: 'Holds' }]}
        >
          <tr>
            <td>you</td>
            <Address label="EVM" text={owner} />
            <Address label="Solana" text={own.find(({ coin }) => coin === 'SOL')?.address ?? null} />
            <Holds balances={own} />
          </tr>
          {given.data.addresses.map((one) => (
            <tr key={one.index}>
              <td>
                <Whose address={one} />
              </td>
              <Address label="EVM" text={one.evm} />
              <Address label="Solana" text={one.solana} />
              <Holds balances={balances.filter(({ index }) => index === one.index)} />
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function Whose({ address: { agent_id: id, agent_gone_at: goneAt } }: { readonly address: WalletAddress }) {
  if (goneAt !== null) return <>{id} (deleted)</>
  return <Link href={`/agents/${encodeURIComponent(id)}`}>{id}</Link>
}

function Address({ label, text }: { readonly label: string; readonly text: string | null }) {
  return (
    <td data-label={label} className="mono small wallet-address">
      {text ?? '—'}
    </td>
  )
}

function Holds({ balances }: { readonly balances: readonly WalletBalance[] }) {
  return (
    <td className="right number" data-label="Holds">
      {balances.length === 0 && '—'}
      {balances.map(({ chain, coin, amount }) => (
        <div key={chain} className="wallet-held">
          {amount === null ? 'not known' : `${amount} ${coin}`}{' '}
          <span className="small muted">on {chain}</span>
        </div>
      ))}
    </td>
  )
}

/** Explains why the balances of a chain are unknown, once for all addresses. */
function Troubles({ balances }: { readonly balances: readonly WalletBalance[] }) {
  const troubles = new Set(
    balances.flatMap(({ chain, problem }) => (problem === null ? [] : [`${chain}: ${problem}`])),
  )
  if (troubles.size === 0) return null
  return (
    <ul className="body stack">
      {[...troubles].map((text) => (
        <li key={text} className="note warn">
          {text}
        </li>
      ))}
    </ul>
  )
}
