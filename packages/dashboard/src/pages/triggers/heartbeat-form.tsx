import { useState } from 'react'
import { heartbeatScheduleSchema } from '@flotilla/protocol/heartbeat-api'
import { describeHeartbeatCost, heartbeatModel } from '@flotilla/protocol/heartbeat-cost'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { useAction, useMesh, useServices } from '../../data/use-mesh.ts'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { formatSchedule } from './format-schedule.ts'

/** Changes the interval of a heartbeat and shows the difference; the change can be undone. */
export function HeartbeatForm({
  agentId,
  schedule,
  onClose,
}: {
  readonly agentId: string
  /** Null if the heartbeat is off. */
  readonly schedule: string | null
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const status = useMesh('status')
  const models = useMesh('models')
  const model = status.data?.agents.find(({ id }) => id === agentId)?.model
  // The heartbeat when the form was opened; later events do not alter it.
  const [before] = useState(schedule)
  const [after, setAfter] = useState(before)
  const parts = { params: { id: agentId } }
  const set = useAction('heartbeatSet', {
    done:
      after === null ? `The heartbeat of ${agentId} is off.` : `The heartbeat of ${agentId} runs ${after}.`,
    stale: ['heartbeats', 'cronJobs', 'cronHistory'],
    undo: () => ({
      by: 'heartbeatSet',
      run: () => client.call('heartbeatSet', { ...parts, body: { schedule: before } }),
      done: `The change of the heartbeat of ${agentId} is undone.`,
    }),
  })
  const read = after === null ? null : heartbeatScheduleSchema.safeParse(after)
  const textOf = (one: string | null) => `heartbeat: ${one ?? 'off'}`
  return (
    <EditDialog
      title={`Heartbeat of ${agentId}`}
      before={textOf(before)}
      after={textOf(after)}
      fault={
        read === null || read.success
          ? null
          : (read.error.issues[0]?.message ?? 'This is not a valid schedule.')
      }
      busy={set.isPending}
      onSave={() => set.mutate({ ...parts, body: { schedule: after } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <label className="row">
        <input
          type="checkbox"
          checked={after !== null}
          onChange={(event) => setAfter(event.target.checked ? (before ?? defaultHeartbeatSchedule) : null)}
        />
        Heartbeat on
      </label>
      {after !== null && (
        <FormField
          label="How often"
          hint={
            read?.success === true
              ? `${formatSchedule(after)}, counted from when it is saved. ${describeHeartbeatCost(after, heartbeatModel(models.data?.models ?? [], model))}`
              : 'Such as every 15m, every 2h or every 1d; a minute to a week apart.'
          }
        >
          <input
            className="input wide mono"
            maxLength={12}
            value={after}
            onChange={(event) => setAfter(event.target.value)}
          />
        </FormField>
      )}
    </EditDialog>
  )
}
