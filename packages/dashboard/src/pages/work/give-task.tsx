import { useState } from 'react'
import { useAction } from '../../data/use-mesh.ts'
import { useWorkingAgents } from '../../data/use-working-agents.ts'
import { ChoiceField } from '../../design/fields.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'

/** Gives a task to an agent, which starts on the task without further action. */
export function GiveTask({ close }: { readonly close: () => void }) {
  const [to, setTo] = useState('')
  const [title, setTitle] = useState('')
  const [description, setDescription] = useState('')
  const [usd, setUsd] = useState('')
  const give = useAction('taskGive', { done: 'The task was given.', stale: ['tasks', 'projects'] })
  const agents = useWorkingAgents('taskGive')
  const maxUsd = Number(usd)
  return (
    <FormDialog
      title="Give a task"
      words="The agent starts as soon as it is free. The board shows the progress."
      action="Give"
      busy={give.isPending || to === '' || title.trim() === ''}
      onClose={close}
      onSend={() =>
        give.mutate(
          {
            body: {
              to,
              title,
              description,
              ...(maxUsd > 0 ? { token_budget: { max_tokens: null, max_cost_usd: maxUsd } } : {}),
            },
          },
          { onSuccess: close },
        )
      }
    >
      <ChoiceField label="To" unchosen="Choose an agent" value={to} onChange={setTo} choices={agents ?? []} />
      <FormField label="The task in one line">
        <input
          className="input"
          required
          maxLength={200}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
      </FormField>
      <FormField label="Everything that the agent needs to know">
        <textarea
          className="input"
          rows={5}
          maxLength={50_000}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </FormField>
      <FormField label="US dollars that it may use (may be empty)">
        <input
          className="input"
          type="number"
          min="0.01"
          step="0.01"
          value={usd}
          onChange={(event) => setUsd(event.target.value)}
        />
      </FormField>
    </FormDialog>
  )
}
