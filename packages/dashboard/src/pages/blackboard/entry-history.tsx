import { useMemo, useState } from 'react'
import type { Reply } from '@flotilla/client/mesh-call'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Ago, Badge, Card, Code, Failed, Loading } from '../../design/parts.tsx'
import { valueDiff } from './value-diff.ts'
import { WriteEntry } from './write-entry.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'

type Version = Reply<'blackboardHistory'>['versions'][number]

/** One key: its value, each stored version, and the difference of two versions. */
export function EntryHistory({ name, close }: { readonly name: string; readonly close: () => void }) {
  const found = useMesh('blackboardHistory', { params: { key: name } })
  const [asking, setAsking] = useState<'write' | 'delete' | null>(null)
  const remove = useAction('blackboardDelete', { done: 'The entry is deleted.', stale: ['blackboard'] })
  const entry = found.data?.entry
  return (
    <Card
      title={name}
      more={
        <span className="row">
          {entry && (
            <>
              <Act call="blackboardPut" className="button small" onClick={() => setAsking('write')}>
                Write …
              </Act>
              <Act call="blackboardDelete" className="button small quiet" onClick={() => setAsking('delete')}>
                Delete …
              </Act>
            </>
          )}
          <button type="button" className="button small quiet" onClick={close}>
            Close
          </button>
        </span>
      }
    >
      <div className="body stack">
        {found.isPending && <Loading rows={2} />}
        {found.error && <Failed error={found.error} retry={found.refetch} />}
        {entry && (
          <>
            <div className="row small muted">
              <Badge>version {entry.version}</Badge>
              <span>
                {formatActor(entry.written_by)} <Ago at={entry.updated_at} />
              </span>
              {entry.expires_at !== null && (
                <span>
                  expires <Ago at={entry.expires_at} />
                </span>
              )}
            </div>
            <Code value={entry.value} label={`Value of ${name}`} />
          </>
        )}
        {found.data && <Versions versions={found.data.versions} />}
      </div>
      {asking === 'write' && entry && <WriteEntry entry={entry} close={() => setAsking(null)} />}
      {asking === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action={`Delete ${name}`}
          busy={remove.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() =>
            remove.mutate(
              { params: { key: name } },
              {
                onSuccess: close,
                onSettled: () => setAsking(null),
              },
            )
          }
        >
          All its versions are deleted too. Agents can no longer read the key.
        </Confirm>
      )}
    </Card>
  )
}

function Versions({ versions }: { readonly versions: readonly Version[] }) {
  const [newer, setNewer] = useState<number | null>(null)
  const [older, setOlder] = useState<number | null>(null)
  const right = versions.find(({ version }) => version === newer) ?? versions[0]
  const at = right === undefined ? -1 : versions.indexOf(right)
  const left = versions.find(({ version }) => version === older) ?? versions[at + 1]
  const pieces = useMemo(() => (left && right ? valueDiff(left.value, right.value) : []), [left, right])
  if (!right || !left) return <p className="small muted">No earlier version is stored.</p>
  return (
    <section className="stack" aria-label="What changed">
      <div className="row small">
        <span className="field">
          From
          <VersionChoice name="Older version" versions={versions} value={left} onChange={setOlder} />
        </span>
        <span className="field">
          to
          <VersionChoice name="Newer version" versions={versions} value={right} onChange={setNewer} />
        </span>
      </div>
      <pre className="code diff" tabIndex={0} role="region" aria-label="Difference">
        {pieces.map(({ kind, text }, index) => (
          // The index is the key, because the pieces of a difference have no ids.
          <Piece key={index} kind={kind} text={text} />
        ))}
      </pre>
    </section>
  )
}

function Piece({ kind, text }: { readonly kind: 'same' | 'added' | 'removed'; readonly text: string }) {
  const sign = kind === 'added' ? '+ ' : kind === 'removed' ? '- ' : '  '
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `${sign}${line}\n`)
    .join('')
  if (kind === 'added') return <ins>{lines}</ins>
  return kind === 'removed' ? <del>{lines}</del> : <span>{lines}</span>
}

function VersionChoice({
  name,
  versions,
  value,
  onChange,
}: {
  readonly name: string
  readonly versions: readonly Version[]
  readonly value: Version
  readonly onChange: (version: number) => void
}) {
  return (
    <select
      className="input"
      aria-label={name}
      value={value.version}
      onChange={(event) => onChange(Number(event.target.value))}
    >
      {versions.map(({ version, written_by: by }) => (
        <option key={version} value={version}>
          {version} by {formatActor(by)}
        </option>
      ))}
    </select>
  )
}
