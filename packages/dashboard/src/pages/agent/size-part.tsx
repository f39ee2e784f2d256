import { agentSizeNames } from '@flotilla/protocol/agent-size'
import type { AgentSizeName, AgentSizeView } from '@flotilla/protocol/agent-size'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useState } from 'react'
import { formatBytes } from '../../data/format.ts'
import { useAction, useMesh, useRefusal, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { TextField } from '../../design/fields.tsx'
import { Ago, Bar, Failed, Loading } from '../../design/parts.tsx'
import { proposeMemoryMb } from './propose-size.ts'
import { readSize, sizeFields, sizeText, sizeWords } from './size-edit.ts'

const mb = 1024 * 1024
const stale = ['agentSize', 'fleetUse'] as const

/** The size of an agent beside its highest use in the last hour, with a proposal and a form for an owner. */
export function SizePart({ agent, use }: { readonly agent: AgentView; readonly use: AgentUse | undefined }) {
  const maySee = useRefusal({ call: 'agentSize', agent: agent.id }) === null
  const size = useMesh('agentSize', { params: { id: agent.id } }, { enabled: maySee })
  const [isChanging, setChanging] = useState(false)
  const { data } = size
  const isOwn = data !== undefined && data.set_at === agent.id
  return (
    <section className="stack tight" aria-label="Size">
      <div className="row apart">
        <h3>Size</h3>
        {isOwn && (
          <Act
            call="setAgentSize"
            agent={agent.id}
            className="button small"
            onClick={() => setChanging(true)}
          >
            Change …<span className="hidden-words"> size</span>
          </Act>
        )}
      </div>
      {maySee && size.isPending && <Loading rows={2} />}
      {size.error && <Failed error={size.error} retry={size.refetch} />}
      {data && <UseOfSize view={data} use={use} />}
      {data && !isOwn && <p className="small muted">It has the size of {data.set_at}, its root ancestor.</p>}
      {data && isOwn && <Proposal view={data} use={use} />}
      {isChanging && data && <SizeForm view={data} onClose={() => setChanging(false)} />}
    </section>
  )
}

function UseOfSize({ view, use }: { readonly view: AgentSizeView; readonly use: AgentUse | undefined }) {
  const { agent_id: id, size, set } = view
  const peak = use?.last_hour ?? null
  // Without isolation an agent has no limit, whatever its size.
  const isLimited = peak === null || use?.memory_limit_bytes != null
  const limit = (name: AgentSizeName) => `${size[name]}${set[name] === undefined ? '' : ' (set)'}`
  return (
    <>
      <div className="meters">
        <div className="meter-row small number">
          <span className="muted">Memory</span>
          {peak === null || !isLimited ? (
            <span />
          ) : (
            <Bar
              part={peak.memory_bytes / (size.memory_mb * mb)}
              label={`Highest part of the memory that ${id} used`}
            />
          )}
          <span>
            {peak === null ? '' : `${formatBytes(peak.memory_bytes)} of `}
            {formatBytes(size.memory_mb * mb)}
          </span>
        </div>
        <div className="meter-row small number">
          <span className="muted">CPU</span>
          {peak?.cpu_percent == null || !isLimited ? (
            <span />
          ) : (
            <Bar
              part={peak.cpu_percent / 100 / size.cpus}
              label={`Highest part of its processors that ${id} used`}
            />
          )}
          <span>
            {peak?.cpu_percent == null ? '' : `${(peak.cpu_percent / 100).toFixed(2)} of `}
            {size.cpus} {size.cpus === 1 ? 'processor' : 'processors'}
          </span>
        </div>
      </div>
      <p className="small muted">
        {peak === null ? (
          'No use was measured in the last hour. '
        ) : (
          <>
            Highest use since <Ago at={peak.since} />.{' '}
          </>
        )}
        At most {limit('pids')} processes, {limit('tmp_mb')} MB in /tmp.
        {!isLimited && ' Without isolation, no limit applies.'}
      </p>
    </>
  )
}

/** Proposes a size that fits the use, which one click sets. */
function Proposal({ view, use }: { readonly view: AgentSizeView; readonly use: AgentUse | undefined }) {
  const save = useSaveSize(view)
  const limit = use?.memory_limit_bytes ?? null
  const peak = use?.last_hour ?? null
  const proposed =
    peak === null || limit === null
      ? null
      : proposeMemoryMb({ peakBytes: peak.memory_bytes, limitBytes: view.size.memory_mb * mb })
  if (proposed === null) return null
  return (
    <div className="note small row apart">
      <span>
        {proposed > view.size.memory_mb
          ? 'It used nearly all of its memory.'
          : 'It used little of its memory.'}{' '}
        Proposed: {proposed} MB.
      </span>
      <Act
        call="setAgentSize"
        agent={view.agent_id}
        className="button small"
        disabled={save.isPending}
        onClick={() =>
          save.mutate({
            params: { id: view.agent_id },
            body: { size: { ...view.set, memory_mb: proposed }, seen: view.set },
          })
        }
      >
        Set {proposed} MB
      </Act>
    </div>
  )
}

function SizeForm({ view, onClose }: { readonly view: AgentSizeView; readonly onClose: () => void }) {
  // The size when the form was opened: a change by another person in the meantime is not overwritten.
  const [seen] = useState(view)
  const [fields, setFields] = useState(() => sizeFields(seen.set))
  const save = useSaveSize(seen)
  const { set, fault } = readSize(fields)
  return (
    <EditDialog
      title={`Size of ${seen.agent_id}`}
      before={sizeText(seen.set, seen.preset)}
      after={set === null ? '' : sizeText(set, seen.preset)}
      fault={fault}
      busy={save.isPending}
      onSave={() =>
        set !== null &&
        save.mutate(
          { params: { id: seen.agent_id }, body: { size: set, seen: seen.set } },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      {agentSizeNames.map((name) => {
        const { label, unit } = sizeWords[name]
        return (
          <TextField
            key={name}
            label={unit === '' ? label : `${label} (${unit})`}
            value={fields[name]}
            placeholder={`${seen.preset[name]} (default)`}
            onChange={(value) => setFields({ ...fields, [name]: value })}
            {...(name === 'tmp_mb' ? { hint: 'Files in /tmp count toward the memory.' } : {})}
          />
        )
      })}
    </EditDialog>
  )
}

function useSaveSize({ agent_id: id, set }: AgentSizeView) {
  const { client } = useServices()
  return useAction('setAgentSize', {
    done: `The size of ${id} is changed; its next run uses it.`,
    stale,
    // `seen` protects a change that another person made after this one.
    undo: ({ set: seen }) => ({
      by: 'setAgentSize',
      run: () => client.call('setAgentSize', { params: { id }, body: { size: set, seen } }),
      done: `The size of ${id} is as it was.`,
    }),
  })
}
