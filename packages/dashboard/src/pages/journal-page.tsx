import { useMutation, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { systemClock } from '@flotilla/client/system-clock'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { formatMoment } from '../data/format.ts'
import { useAction, useMesh, useServices } from '../data/use-mesh.ts'
import { Confirm } from '../design/confirm.tsx'
import { Badge, Card, Code, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { journalRowsMax, readJournalRows } from './journal-rows.ts'
import type { JournalRow } from './journal-rows.ts'

const hourMs = 3_600_000
const ranges = [
  { words: 'Last hour', ms: hourMs },
  { words: 'Last day', ms: 24 * hourMs },
  { words: 'Last week', ms: 7 * 24 * hourMs },
  { words: 'All', ms: null },
] as const
const rowHeightPx = 40

export function JournalPage() {
  const [range, setRange] = useState(1)
  const [agent, setAgent] = useState('')
  const [action, setAction] = useState('')
  const [chosen, setChosen] = useState<JournalRow | null>(null)
  const [words, setWords] = useState('')
  const status = useMesh('status')
  const asked = { ms: ranges[range]?.ms ?? null, agent, action }
  const read = useJournal(asked)
  const rows = (read.data?.rows ?? []).filter((row) => fits(row, words.toLowerCase()))
  const broken = status.data?.ready.problems.find(({ id }) => id === 'journal')
  return (
    <div className="page">
      <PageHead title="Journal">
        {status.data && <Badge tone={broken ? 'bad' : 'ok'}>{broken ? 'chain broken' : 'chain whole'}</Badge>}
        <Check />
        <a className="button" href={exportPath(asked)} download="journal.jsonl">
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
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <select
          className="input"
          aria-label="Since"
          value={range}
          onChange={(event) => setRange(Number(event.target.value))}
        >
          {ranges.map((one, index) => (
            <option key={one.words} value={index}>
              {one.words}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Agent"
          value={agent}
          onChange={(event) => setAgent(event.target.value)}
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
          placeholder="Such as permission.*"
          aria-label="Action"
          value={action}
          onChange={(event) => setAction(event.target.value)}
        />
      </div>
      {read.error && <Failed error={read.error} retry={read.refetch} />}
      <section className="card" aria-label="Rows">
        {read.isPending && <Loading />}
        {read.isSuccess && rows.length === 0 && (
          <Empty title="Nothing like that is written down">
            Every decision and every effect is a row here, sealed by the one before it. Choose a longer time
            or other words.
          </Empty>
        )}
        {rows.length > 0 && <RowList rows={rows} chosen={chosen} onChoose={setChosen} />}
      </section>
      {read.data?.more && (
        <p className="small muted">
          The newest {journalRowsMax} rows of that time are shown. Export has all of them.
        </p>
      )}
      {chosen && (
        <Card title={`Row ${chosen.seq}`} more={<span className="mono small clip">{chosen.hash}</span>}>
          <div className="body">
            <Code value={chosen.detail} label="Detail" />
          </div>
        </Card>
      )}
    </div>
  )
}

interface Asked {
  readonly ms: number | null
  readonly agent: string
  readonly action: string
}

/** What the mesh is asked for, as its schema has it. */
function queryOf({ ms, agent, action }: Asked) {
  return {
    format: 'rows',
    ...(ms === null ? {} : { since: systemClock.now() - ms }),
    ...(agent === '' ? {} : { agent }),
    ...(action === '' ? {} : { action }),
  } as const
}

/** All rows of that time and kind, however many the page holds. */
function exportPath(asked: Asked): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(queryOf(asked))) search.set(name, String(value))
  return `${journalEndpoints.journalExport.path}?${search.toString()}`
}

/** Reads the whole chain again, now. */
function Check() {
  const { client, toasts, queries } = useServices()
  const check = useMutation({
    mutationFn: () => client.call('journalVerify'),
    onSuccess: ({ ok, rows, detail }) => {
      if (ok) toasts.tell(`All ${rows} rows fit together.`)
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
  const accept = useAction('journalAccept', { done: 'The journal goes on from here.', stale: ['status'] })
  return (
    <div className="stack">
      <Failed error={new Error(detail)} />
      <div className="row">
        <button type="button" className="button" onClick={() => setAsking(true)}>
          Go on with it as it stands …
        </button>
      </div>
      {asking && (
        <Confirm
          title="Go on with a broken journal?"
          action="Go on"
          busy={accept.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => accept.mutate({}, { onSettled: () => setAsking(false) })}
        >
          Somebody or something changed what was sealed: {detail} What is broken stays so and is written down;
          rows are sealed from here on. Save a copy by Export first.
        </Confirm>
      )}
    </div>
  )
}

function useJournal(asked: Asked) {
  const { client } = useServices()
  return useQuery({
    queryKey: ['journalExport', asked],
    queryFn: ({ signal }) => {
      const pieces = client.stream('journalExport', {
        query: queryOf(asked),
        signal,
      })
      return readJournalRows(pieces)
    },
  })
}

function fits(row: JournalRow, words: string): boolean {
  return words === '' || row.searched.includes(words)
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
                <span className="clip only-wide">{row.actor}</span>
                <span className="clip">
                  {row.action}
                  <span className="only-narrow muted"> {row.actor}</span>
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
