import { useState } from 'react'
import type { IdentityFile } from '@flotilla/protocol/kept-api'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { editableFiles } from '@flotilla/protocol/workspace-file'
import { formatCount } from '../../data/format.ts'
import { useEdits } from '../../data/use-edits.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { DiffView } from '../../design/diff-view.tsx'
import { Badge, Bar, Card, Code, Failed, Loading } from '../../design/parts.tsx'
import { Changes } from './changes.tsx'

/** The purpose of each file, in a few words. */
const purposes: Readonly<Record<string, string>> = {
  'PROJECT.md': 'the goal and texts of its project',
  'SYSTEM.md': 'facts about the agent, written by the mesh',
  'INSTRUCTIONS.md': 'what it does, and how',
  'SOUL.md': 'how it speaks and what it cares for',
  'USER.md': 'whom it works for',
  'MEMORY.md': 'what it keeps in mind in every conversation',
  'HEARTBEAT.md': 'what it looks after by itself',
  'INTERFACE.md': 'how others ask it for work',
  'AGENTS.md': 'for programs that work in its folder',
}

/** The files that define an agent: shows them, edits them with a difference, and undoes edits. */
export function IdentityTab({ agentId }: { readonly agentId: string }) {
  const files = useMesh('identityFiles', { params: { id: agentId } })
  const [chosen, setChosen] = useState('INSTRUCTIONS.md')
  const file = files.data?.files.find(({ name }) => name === chosen)
  if (files.isPending) return <Loading />
  if (files.error) return <Failed error={files.error} retry={files.refetch} />
  return (
    <div className="pick-beside">
      <Card title="Identity files">
        <div className="pick">
          {files.data.files.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-pressed={one.name === chosen}
              onClick={() => setChosen(one.name)}
            >
              <span>{one.name}</span>
              <span className="small muted number">
                {one.cap === null ? formatCount(one.size, 'character') : `${one.size} / ${one.cap}`}
              </span>
              <span className="small muted purpose">
                {purposes[one.name]}
                {one.read_only && ' (the mesh writes it)'}
              </span>
              {one.cap !== null && (
                <Bar part={one.size / one.cap} label={`Part of ${one.name} that is full`} />
              )}
            </button>
          ))}
        </div>
      </Card>
      <div className="stack">
        {file && <OneFile key={file.name} agentId={agentId} file={file} />}
        <Changes agentId={agentId} />
      </div>
    </div>
  )
}

function OneFile({ agentId, file }: { readonly agentId: string; readonly file: IdentityFile }) {
  const text = useMesh('identityFile', { params: { id: agentId, file: file.name } })
  return (
    <Card title={file.name} more={file.is_default ? <Badge>not written yet</Badge> : null}>
      <div className="body stack">
        {text.isPending && <Loading />}
        {text.error && <Failed error={text.error} retry={text.refetch} />}
        {text.data && file.read_only && (
          <>
            <p className="muted">The mesh writes this one; the agent reads it.</p>
            <Code
              value={text.data.content === '' ? 'This file is empty.' : text.data.content}
              label={file.name}
            />
          </>
        )}
        {text.data && !file.read_only && <Editor agentId={agentId} file={file} now={text.data.content} />}
      </div>
    </Card>
  )
}

function Editor({
  agentId,
  file,
  now,
}: {
  readonly agentId: string
  readonly file: IdentityFile
  /** The content of the file, as the page last received it. */
  readonly now: string
}) {
  const edits = useEdits(agentId)
  const [before, setBefore] = useState(now)
  const [after, setAfter] = useState(before)
  const [looking, setLooking] = useState(false)
  const field = editableFiles.find((name) => name === file.name)
  const isFull = file.cap !== null && after.length > file.cap
  const save = (): void => {
    if (field === undefined) return
    const edit: AgentEdit = { field, value: after, reason: '', seen: before }
    edits.mutate([edit], { onSettled: () => setLooking(false) })
  }
  const follow = (): void => {
    setBefore(now)
    if (after === before) setAfter(now)
  }
  // An unsaved text is kept when the file changes elsewhere; without one, the page shows the new content.
  if (now !== before && (after === before || after === now)) {
    setLooking(false)
    follow()
  }
  return (
    <>
      {now !== before && (
        <div className="note warn" role="status">
          <span>{file.name} was changed by someone else. Your text is still here.</span>
          <button type="button" className="button small" onClick={follow}>
            Compare with the current text
          </button>
        </div>
      )}
      {looking ? (
        <DiffView before={before} after={after} label={`What changes in ${file.name}`} />
      ) : (
        <textarea
          className="input editor"
          aria-label={`Text of ${file.name}`}
          spellCheck={false}
          value={after}
          onChange={(event) => setAfter(event.target.value)}
        />
      )}
      <div className="row apart">
        <span className={`small number ${isFull ? 'over' : 'muted'}`} role="status">
          {after.length}
          {file.cap === null ? ' characters' : ` of ${file.cap} characters`}
          {isFull && `, ${after.length - (file.cap ?? 0)} too many`}
        </span>
        <div className="row">
          {(looking || after !== before) && (
            <button
              type="button"
              className="button"
              onClick={() => (looking ? setLooking(false) : setAfter(before))}
            >
              {looking ? 'Keep editing' : 'Discard changes'}
            </button>
          )}
          {looking ? (
            <Act
              call="agentEdit"
              agent={agentId}
              className="button primary"
              disabled={edits.isPending}
              onClick={save}
            >
              Save
            </Act>
          ) : (
            <Act
              call="agentEdit"
              agent={agentId}
              className="button primary"
              disabled={after === before || isFull}
              onClick={() => setLooking(true)}
            >
              Review change
            </Act>
          )}
        </div>
      </div>
    </>
  )
}
