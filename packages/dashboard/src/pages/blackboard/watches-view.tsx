import { useState } from 'react'
import type { BlackboardWatchView } from '@flotilla/protocol/blackboard-api'
import { watchLimits, watchDeliveries } from '@flotilla/protocol/blackboard-limits'
import type { WatchDelivery } from '@flotilla/protocol/blackboard-limits'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { ChoiceField } from '../../design/fields.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Badge, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { formatActor } from '@flotilla/protocol/format-actor'
import { watchDeliveryLabels } from './watch-delivery-labels.ts'

const stale = ['blackboardWatchList'] as const

/** Lists which agents are notified when others write to keys of the blackboard. */
export function WatchesView() {
  const found = useMesh('blackboardWatchList')
  const [making, setMaking] = useState(false)
  const watches = found.data?.watches ?? []
  return (
    <>
      <div className="row">
        <Act call="blackboardWatchSet" className="button" onClick={() => setMaking(true)}>
          New watch …
        </Act>
      </div>
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      <section className="card" aria-label="Watches">
        {found.isPending && <Loading />}
        {found.isSuccess && watches.length === 0 && (
          <Empty title="No watches yet">
            An agent that watches a pattern such as <code>output/**</code> is notified when another agent or a
            person writes there. Create a watch above, or let the agent create one with its tool.
          </Empty>
        )}
        {watches.length > 0 && (
          <Table
            label="Table of watches"
            columns={['Pattern', 'Agent', 'Notified by', 'Created by', { right: 'Waiting' }]}
            hasActions
          >
            {watches.map((watch) => (
              <Watch key={watch.id} watch={watch} />
            ))}
          </Table>
        )}
      </section>
      {making && <NewWatch close={() => setMaking(false)} />}
    </>
  )
}

function Watch({ watch }: { readonly watch: BlackboardWatchView }) {
  const set = useAction('blackboardWatchSet', { done: 'The watch is deleted.', stale })
  const { agent_id: agent, pattern, tell, waiting, held } = watch
  return (
    <tr>
      <td className="mono">{pattern}</td>
      <td data-label="Agent">{agent}</td>
      <td data-label="Notified by">{watchDeliveryLabels[tell]}</td>
      <td className="muted" data-label="Created by">
        {formatActor(watch.created_by)}
      </td>
      <td className="right number" data-label="Waiting">
        {waiting}
        {held !== null && (
          <div>
            <Badge tone="warn">{held}</Badge>
          </div>
        )}
      </td>
      <td className="right">
        <Act
          call="blackboardWatchSet"
          className="button small"
          disabled={set.isPending}
          onClick={() => set.mutate({ body: { agent_id: agent, pattern, tell: 'off' } })}
        >
          End<span className="hidden-words"> the watch of {agent}</span>
        </Act>
      </td>
    </tr>
  )
}

function NewWatch({ close }: { readonly close: () => void }) {
  const [agent, setAgent] = useState('')
  const [pattern, setPattern] = useState('')
  const [tell, setTell] = useState<WatchDelivery>('run')
  const status = useMesh('status')
  const set = useAction('blackboardWatchSet', { done: 'The watch is active.', stale })
  return (
    <FormDialog
      title="New watch"
      words="* matches within a segment, ** any number of segments. An agent is not notified of its own writes."
      action="Watch"
      busy={set.isPending || agent === '' || pattern === ''}
      onClose={close}
      onSend={() => set.mutate({ body: { agent_id: agent, pattern, tell } }, { onSuccess: close })}
    >
      <ChoiceField
        label="Agent"
        unchosen="Choose an agent"
        value={agent}
        onChange={setAgent}
        choices={(status.data?.agents ?? []).map(({ id }) => id)}
      />
      <FormField label="Pattern of keys">
        <input
          className="input mono"
          required
          maxLength={watchLimits.patternMaxChars}
          placeholder="output/**"
          value={pattern}
          onChange={(event) => setPattern(event.target.value)}
        />
      </FormField>
      <ChoiceField
        label="Notify by"
        value={tell}
        onChange={setTell}
        choices={watchDeliveries.map((one) => [one, watchDeliveryLabels[one]] as const)}
      />
    </FormDialog>
  )
}
