import { Dialog, DialogHeading } from '@ariakit/react/dialog'
import { useState } from 'react'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useEdits } from '../../data/use-edits.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { DiffView } from '../../design/diff-view.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Failed, Loading } from '../../design/parts.tsx'
import { editsOf, settingsText } from './agent-settings.ts'
import type { AgentSettings } from './agent-settings.ts'
import { ModelChoice } from './model-choice.tsx'

/** Edits an agent's role, model and budget, shows the difference before saving, and offers to undo. */
export function EditAgent({ agent, onClose }: { readonly agent: AgentView; readonly onClose: () => void }) {
  const config = useMesh('agentConfig', { params: { id: agent.id } })
  return (
    <Dialog open onClose={onClose} className="dialog wide-dialog" backdrop={<div className="veil" />}>
      <DialogHeading>Edit {agent.id}</DialogHeading>
      {config.isPending && <Loading />}
      {config.error && <Failed error={config.error} retry={config.refetch} />}
      {config.data && (
        <SettingsForm
          agentId={agent.id}
          before={{
            role: config.data.role,
            model: config.data.model ?? '',
            dailyUsd: String(config.data.budget.daily_usd),
            monthlyUsd: String(config.data.budget.monthly_usd),
          }}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}

function SettingsForm({
  agentId,
  before: now,
  onClose,
}: {
  readonly agentId: string
  readonly before: AgentSettings
  readonly onClose: () => void
}) {
  const edits = useEdits(agentId)
  // The settings when the form was opened; later changes by other people do not alter them.
  const [before] = useState(now)
  const [after, setAfter] = useState(before)
  const [looking, setLooking] = useState<readonly AgentEdit[] | null>(null)
  const change = (part: Partial<AgentSettings>) => setAfter({ ...after, ...part })
  const changes = editsOf(before, after)
  if (looking) {
    return (
      <>
        <DiffView before={settingsText(before)} after={settingsText(after)} label="What will change" />
        <div className="actions">
          <button type="button" className="button" onClick={() => setLooking(null)}>
            Back
          </button>
          <button
            type="button"
            className="button primary"
            disabled={edits.isPending}
            onClick={() => edits.mutate(looking, { onSettled: onClose })}
          >
            Save
          </button>
        </div>
      </>
    )
  }
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        setLooking(changes)
      }}
    >
      <FormField label="Role">
        <textarea
          className="input wide"
          rows={3}
          maxLength={500}
          required
          value={after.role}
          onChange={(event) => change({ role: event.target.value })}
        />
      </FormField>
      <ModelChoice value={after.model} onChange={(model) => change({ model })} />
      <div className="form-row">
        <FormField label="Dollars a day">
          <input
            className="input wide number"
            type="number"
            min="0"
            step="any"
            required
            value={after.dailyUsd}
            onChange={(event) => change({ dailyUsd: event.target.value })}
          />
        </FormField>
        <FormField label="Dollars a month">
          <input
            className="input wide number"
            type="number"
            min="0"
            step="any"
            required
            value={after.monthlyUsd}
            onChange={(event) => change({ monthlyUsd: event.target.value })}
          />
        </FormField>
      </div>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={changes.length === 0}>
          Review change
        </button>
      </div>
    </form>
  )
}
