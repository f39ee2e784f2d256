import { Link } from 'wouter'
import { asSentence } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { formatBrowser, formatClosed } from '../agent/format-browser.ts'
import type { BrowserView } from '@flotilla/protocol/browser-api'

/** Polling interval: no event reports that a browser starts or works. */
const everyMs = 4000

/** Shows the browsers of all agents: whether this machine supports them, which are open, and who controls them. */
export function Browsers() {
  const found = useMesh('browsers', {}, { refetchInterval: everyMs })
  const all = found.data?.browsers ?? []
  return (
    <Card
      title="Browsers"
      more={
        found.data && (
          <span className="small muted number">
            {all.filter(({ state }) => state === 'live').length} open, {found.data.max_live} at most
          </span>
        )
      }
    >
      {found.isPending && <Loading />}
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      {found.data?.unavailable != null && (
        <Empty title="This fleet cannot have browsers">{asSentence(found.data.unavailable)}</Empty>
      )}
      {found.data?.unavailable === null && all.length === 0 && (
        <Empty title="No browser is open">
          An agent with the permission can_use_browser opens a browser at its first use. On the page of the
          agent you can watch the browser, take it over and give it back.
        </Empty>
      )}
      {all.length > 0 && (
        <Table label="Table of browsers" columns={['Agent', 'State', 'Page', 'Since']} hasActions>
          {all.map((one) => (
            <Row key={one.agent_id} browser={one} />
          ))}
        </Table>
      )}
    </Card>
  )
}

function Row({ browser }: { readonly browser: BrowserView }) {
  const { agent_id: id, state, page, since, reason } = browser
  const close = useAction('browserClose', {
    done: formatClosed,
    stale: ['browsers', 'status'],
  })
  const { tone, words: label } = formatBrowser(browser)
  return (
    <tr>
      <td>
        <Link href={`/agents/${encodeURIComponent(id)}`}>{id}</Link>
      </td>
      <td>
        <Badge tone={tone}>{label}</Badge>
        {reason !== null && <div className="small muted">{reason}</div>}
      </td>
      <td data-label="Page" className="plain-text">
        {page?.host || <span className="muted">none</span>}
      </td>
      <td data-label="Since" className="muted">
        <Ago at={since} />
      </td>
      <td className="right">
        {(state === 'live' || state === 'opening') && (
          <button
            type="button"
            className="button small"
            disabled={close.isPending}
            onClick={() => close.mutate({ params: { id } })}
          >
            Close<span className="hidden-words"> the browser of {id}</span>
          </button>
        )}
      </td>
    </tr>
  )
}
