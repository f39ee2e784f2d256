import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Ago, Empty, Failed, Loading } from '../../design/parts.tsx'
import { EntryHistory } from './entry-history.tsx'
import { WriteEntry } from './write-entry.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

const rowHeightPx = 40
const previewMaxChars = 160

/** Lists every key with its newest value, and the history of the selected key. */
export function EntriesView() {
  const [{ prefix, find, key }, choose] = useChoice(['prefix', 'find', 'key'])
  const [making, setMaking] = useState(false)
  const board = useMesh('blackboard', { query: { prefix } })
  const all = board.data?.entries ?? []
  const shown = all.filter((entry) => matches(entry, find.toLowerCase()))
  return (
    <>
      <div className="row">
        <input
          className="input"
          placeholder="Key prefix"
          aria-label="Prefix of keys"
          value={prefix}
          onChange={(event) => choose('prefix', event.target.value)}
        />
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search entries"
          value={find}
          onChange={(event) => choose('find', event.target.value)}
        />
        <Act call="blackboardPut" className="button" onClick={() => setMaking(true)}>
          New entry …
        </Act>
      </div>
      {board.error && <Failed error={board.error} retry={board.refetch} />}
      <div className={key === '' ? 'stack' : 'beside'}>
        <section className="card" aria-label="Entries">
          {board.isPending && <Loading />}
          {board.isSuccess && shown.length === 0 && (
            <Empty title={all.length === 0 ? 'No entries yet' : 'No entry matches'}>
              {all.length === 0
                ? 'The blackboard holds small facts that agents share: JSON under keys such as output/report. Agents write there as their permissions say; you write with New entry.'
                : 'Choose other words.'}
            </Empty>
          )}
          {shown.length > 0 && (
            <EntryList entries={shown} chosen={key} onChoose={(one) => choose('key', one)} />
          )}
        </section>
        {key !== '' && <EntryHistory key={key} name={key} close={() => choose('key', '')} />}
      </div>
      {making && <WriteEntry entry={null} close={() => setMaking(false)} />}
    </>
  )
}

function EntryList({
  entries,
  chosen,
  onChoose,
}: {
  readonly entries: readonly BlackboardEntry[]
  readonly chosen: string
  readonly onChoose: (key: string) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeightPx,
    overscan: 12,
  })
  return (
    <>
      <div className="list-row list-head entry-row" aria-hidden="true">
        <span>Key</span>
        <span className="only-wide">Value</span>
        <span>Version</span>
        <span className="only-wide">By</span>
        <span className="only-wide">Written</span>
      </div>
      <div className="list-scroll" ref={box}>
        <div className="list-rows" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const entry = entries[index]
            if (!entry) return null
            return (
              <button
                key={entry.key}
                type="button"
                className="list-row entry-row row-button"
                aria-pressed={entry.key === chosen}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => onChoose(entry.key)}
              >
                <span className="clip mono">{entry.key}</span>
                <span className="clip muted only-wide">{preview(entry.value)}</span>
                <span className="number">{entry.version}</span>
                <span className="clip only-wide">{formatActor(entry.written_by)}</span>
                <span className="muted only-wide">
                  <Ago at={entry.updated_at} />
                </span>
              </button>
            )
          })}
        </div>
      </div>
    </>
  )
}

function preview(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.slice(0, previewMaxChars)
}

function matches({ key, value, written_by: by }: BlackboardEntry, search: string): boolean {
  if (search === '') return true
  return [key, formatActor(by), JSON.stringify(value)].join('\n').toLowerCase().includes(search)
}
