import { useMutation, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { systemClock } from '@flotilla/client/system-clock'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { formatCount, formatMoment } from '../data/format.ts'
import { useChoice } from '../data/use-choice.ts'
import { useAction, useMesh, useServices } from '../data/use-mesh.ts'
import { useSettled } from '../data/use-settled.ts'
import { Confirm } from '../design/confirm.tsx'
import '../design/blackboard.css'
import { Badge, Card, Code, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { joinJournalRows, journalRowsMax, readJournalRows } from './journal-rows.ts'
import type { JournalRow, JournalRows } from './journal-rows.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

const hourMs = 3_600_000
const ranges = [
  { name: 'hour', words: 'Last hour', ms: hourMs },
  { name: 'day', words: 'Last day', ms: 24 * hourMs },
  { name: 'week', words: 'Last week', ms: 7 * 24 * hourMs },
  { name: 'all', words: 'All', ms: null },
] as const
/** The time range that is used if the address names none. */
const usualRange = ranges[1]
const rowHeightPx = 40
/** There is no event for a new row, so the page polls. */
const readEveryMs = 3000

export function JournalPage() {
  const [{ since, agent, action, find: search }, choose] = useChoice(['since', 'agent', 'action', 'find'])
  const range = ranges.find(({ name }) => name === since) ?? usualRange
  const [chosen, setChosen] = useState<JournalRow | null>(null)
  const status = useMesh('status')
  const typed = { ms: range.ms, agent, action: action.trim() }
  const filter = { ...typed, action: useSettled(typed.action) }
  const read = useJournal(filter)
  const rows = (read.data?.rows ?? []).filter((row) => fits(row, search.toLowerCase()))
  const broken = status.data?.ready.problems.find(({ id }) => id === 'journal')
  return (
    <div className="page">
      <PageHead title="Journal">
        {status.data && <Badge tone={broken ? 'bad' : 'ok'}>{broken ? 'chain broken' : 'chain whole'}</Badge>}
        <Check />
        <a className="button" href={exportPath(typed)} download="journal.jsonl">
          Export these
        </a>
      </PageHead>
      {broken && <Broken detail={broken.detail} />}
      <div className="row">
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search the journal"
          value={search}
          onChange={(event) => choose('find', event.target.value)}
        />
        <select
          className="input"
          aria-label="Since"
          value={range.name}
          onChange={(event) =>
            choose('since', event.target.value === usualRange.name ? '' : event.target.value)
          }
        >
          {ranges.map(({ name, words: shown }) => (
            <option key={name} value={name}>
              {shown}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Agent"
          value={agent}
          onChange={(event) => choose('agent', event.target.value)}
        >
          <option value="">Agent: any</option>
          {status.data?.agents.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
        <input
          className="input"
          placeholder="Action, such as run.*"
          size={26}
          aria-label="Action"
          value={action}
          onChange={(event) => choose('action', event.target.value)}
        />
      </div>
      {read.error && <Failed error={read.error} retry={read.refetch} />}
      <div className={chosen ? 'beside' : 'stack'}>
        <section className="card" aria-label="Rows">
          {read.isPending && <Loading />}
          {read.isSuccess && rows.length === 0 && (
            <Empty title="No rows match">
              Every decision and every effect is a row, chained to the previous row by its hash. Choose a
              longer time or other words.
            </Empty>
          )}
          {rows.length > 0 && <RowList rows={rows} chosen={chosen} onChoose={setChosen} />}
        </section>
        {chosen && <OneRow row={chosen} onClose={() => setChosen(null)} />}
      </div>
      {read.data?.more && (
        <p className="small muted">
          The newest {journalRowsMax} rows of that time are shown. The export contains all of them.
        </p>
      )}
    </div>
  )
}

/** Shows one row completely, beside the list. */
function OneRow({ row, onClose }: { readonly row: JournalRow; readonly onClose: () => void }) {
  const facts = [
    ['When', formatMoment(row.at)],
    ['Who', row.actor],
    ['Action', row.action],
    ['On', row.subject],
  ] as const
  return (
    <div className="in-view">
      <Card
        title={`Row ${row.seq}`}
        more={
          <button type="button" className="button small quiet" onClick={onClose}>
            Close
          </button>
        }
      >
        <div className="body stack">
          <dl className="facts">
            {facts.map(([name, value]) => (
              <div key={name} className="fact">
                <dt>{name}</dt>
                <dd className="number">{value}</dd>
              </div>
            ))}
          </dl>
          <Code value={row.detail} label="Detail" />
          <p className="small muted mono plain-text">sha256 {row.hash}</p>
        </div>
      </Card>
    </div>
  )
}

interface Asked {
  readonly ms: number | null
  readonly agent: string
  readonly action: string
}

/** Returns the query for the mesh, in the form of its schema. */
function queryOf({ ms, agent, action }: Asked) {
  return {
    format: 'rows',
    ...(ms === null ? {} : { since: systemClock.now() - ms }),
    ...(agent === '' ? {} : { agent }),
    ...(action === '' ? {} : { action }),
  } as const
}

/** Returns the path that exports all rows that match the filter, also those that the page does not list. */
function exportPath(filter: Asked): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(queryOf(filter))) search.set(name, String(value))
  return `${journalEndpoints.journalExport.path}?${search.toString()}`
}

/** Verifies the whole hash chain now. */
function Check() {
  const { client, toasts, queries } = useServices()
  const check = useMutation({
    mutationFn: () => client.call('journalVerify'),
    onSuccess: ({ ok, rows, detail }) => {
      if (ok) toasts.tell(`The chain is intact: ${formatCount(rows, 'row')} checked.`)
      else toasts.fail(new Error(detail ?? 'The chain is broken.'))
      void queries.invalidateQueries({ queryKey: ['status'] })
    },
    onError: (error) => toasts.fail(error),
  })
  return (
    <button type="button" className="button" disabled={check.isPending} onClick={() => check.mutate()}>
      {check.isPending ? 'Checking …' : 'Check the chain'}
    </button>
  )
}

function Broken({ detail }: { readonly detail: string }) {
  const [asking, setAsking] = useState(false)
  const accept = useAction('journalAccept', {
    done: 'The break is accepted; verification starts after it.',
    stale: ['status'],
  })
  return (
    <div className="stack">
      <Failed error={new Error(detail)} />
      <div className="row">
        <button type="button" className="button" onClick={() => setAsking(true)}>
          Accept the break …
        </button>
      </div>
      {asking && (
        <Confirm
          title="Continue with a broken journal?"
          action="Continue"
          busy={accept.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => accept.mutate({}, { onSettled: () => setAsking(false) })}
        >
          Sealed rows were changed: {detail} The broken part stays broken, and your acceptance is recorded.
          New rows are sealed from here on. Save a copy with Export first.
        </Confirm>
      )}
    </div>
  )
}

function useJournal(filter: Asked) {
  const { client, queries } = useServices()
  const queryKey = ['journalExport', filter] as const
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      // Only rows since the newest known row are requested, whatever time range is selected.
      const before = queries.getQueryData<JournalRows>(queryKey)
      const newest = before?.rows[0]?.at
      const query = { ...queryOf(filter), ...(newest === undefined ? {} : { since: newest }) }
      const read = await readJournalRows(client.stream('journalExport', { query, signal }))
      return before === undefined ? read : joinJournalRows(before, read)
    },
    staleTime: 0,
    refetchInterval: readEveryMs,
  })
}

function fits(row: JournalRow, search: string): boolean {
  return search === '' || row.searched.includes(search)
}

function RowList({
  rows,
  chosen,
  onChoose,
}: {
  readonly rows: readonly JournalRow[]
  readonly chosen: JournalRow | null
  readonly onChoose: (row: JournalRow) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeightPx,
    overscan: 12,
  })
  return (
    <>
      <div className="list-row list-head journal-row" aria-hidden="true">
        <span>When</span>
        <span className="only-wide">Who</span>
        <span>Action</span>
        <span className="only-wide">On</span>
      </div>
      <div className="list-scroll" ref={box}>
        <div className="list-rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            if (!row) return null
            return (
              <button
                key={row.seq}
                type="button"
                className="list-row journal-row row-button"
                aria-pressed={chosen?.seq === row.seq}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => onChoose(row)}
              >
                <span className="muted number clip">{formatMoment(row.at)}</span>
                <span className="clip only-wide">{formatActor(row.actor)}</span>
                <span className="clip">
                  {row.action}
                  <span className="only-narrow muted"> {formatActor(row.actor)}</span>
                </span>
                <span className="clip muted only-wide">{row.subject}</span>
              </button>
            )
          })}
        </div>
      </div>
    </>
  )
}
