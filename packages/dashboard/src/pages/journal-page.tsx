import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { systemClock } from '@flotilla/client/system-clock'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { formatMoment } from '../data/format.ts'
import { useMesh, useServices } from '../data/use-mesh.ts'
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
  const read = useJournal({ ms: ranges[range]?.ms ?? null, agent, action })
  const rows = (read.data?.rows ?? []).filter((row) => fits(row, words.toLowerCase()))
  const broken = status.data?.ready.problems.find(({ id }) => id === 'journal')
  return (
    <div className="page">
      <PageHead title="Journal">
        {status.data && <Badge tone={broken ? 'bad' : 'ok'}>{broken ? 'chain broken' : 'chain whole'}</Badge>}
        <a
          className="button"
          href={`${journalEndpoints.journalExport.path}?format=rows`}
          download="journal.jsonl"
        >
          Export
        </a>
      </PageHead>
      {broken && <Failed error={new Error(broken.detail)} />}
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
          placeholder="Action, such as permission.*"
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

function useJournal(asked: { readonly ms: number | null; readonly agent: string; readonly action: string }) {
  const { client } = useServices()
  return useQuery({
    queryKey: ['journalExport', asked],
    queryFn: ({ signal }) => {
      const pieces = client.stream('journalExport', {
        query: {
          format: 'rows',
          ...(asked.ms === null ? {} : { since: systemClock.now() - asked.ms }),
          ...(asked.agent === '' ? {} : { agent: asked.agent }),
          ...(asked.action === '' ? {} : { action: asked.action }),
        },
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
