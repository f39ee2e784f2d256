import { useState } from 'react'
import { useMutation } from '@tanstack/react-query'
import { answerKinds, answerLimits, thinkingEfforts } from '@flotilla/protocol/answer-settings'
import type { AnswerKind } from '@flotilla/protocol/answer-settings'
import type { AnswersView } from '@flotilla/protocol/setup-api'
import { formatCount } from '../../data/format.ts'
import { useMesh, useRefusal, useServices } from '../../data/use-mesh.ts'
import { withProof } from '../../data/with-proof.ts'
import { Act } from '../../design/act.tsx'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { Card, Failed, Loading } from '../../design/parts.tsx'
import { answerChanges, answerFieldsOf, answersFault, answersText, readThinking } from './answers-edit.ts'
import type { AnswerFields, AnswersFields } from './answers-edit.ts'

const titles: Readonly<Record<AnswerKind, string>> = {
  chat: 'In a chat',
  task: 'In a task',
  heartbeat: 'In a heartbeat',
}

/** How much the agent's model thinks and how long its answers may be, by kind of run. For owners. */
export function AnswersCard({ agentId }: { readonly agentId: string }) {
  const isOwner = useRefusal({ call: 'setupAnswers' }) === null
  const answers = useMesh('setupAnswers', {}, { enabled: isOwner })
  const [changing, setChanging] = useState(false)
  if (!isOwner) return null
  const { data } = answers
  const own = data?.agents[agentId]
  return (
    <Card
      title="Answers"
      more={
        <Act call="setupAnswersSet" className="button small" onClick={() => setChanging(true)}>
          Change …<span className="hidden-words"> answers</span>
        </Act>
      }
    >
      {answers.isPending && <Loading rows={2} />}
      {answers.error && <Failed error={answers.error} retry={answers.refetch} />}
      {data && (
        <dl className="facts body">
          {answerKinds.map((kind) => (
            <div key={kind} className="fact">
              <dt>{titles[kind]}</dt>
              <dd>{describeAnswer(own?.[kind] ?? {}, data.fleet[kind] ?? {})}</dd>
            </div>
          ))}
        </dl>
      )}
      {changing && data && (
        <AnswersForm agentId={agentId} own={own} fleet={data.fleet} onClose={() => setChanging(false)} />
      )}
    </Card>
  )
}

type Answer = NonNullable<AnswersView[AnswerKind]>

function describeAnswer(own: Answer, fleet: Answer): string {
  const thinking = own.thinking ?? fleet.thinking
  const tokens = own.max_output_tokens ?? fleet.max_output_tokens
  const parts = [
    ...(thinking === undefined ? [] : [`thinks ${thinking === 'none' ? 'not at all' : thinking}`]),
    ...(tokens === undefined ? [] : [`at most ${formatCount(tokens, 'token')}`]),
  ]
  return parts.length === 0 ? 'as the provider decides' : parts.join(', ')
}

function AnswersForm({
  agentId,
  own,
  fleet,
  onClose,
}: {
  readonly agentId: string
  readonly own: AnswersView | undefined
  readonly fleet: AnswersView
  readonly onClose: () => void
}) {
  // The settings when the form was opened; later changes by other people do not alter them.
  const [before] = useState(() => answerFieldsOf(own))
  const [after, setAfter] = useState(before)
  const save = useSaveAnswers(agentId)
  return (
    <EditDialog
      title={`Answers of ${agentId}`}
      before={answersText(before)}
      after={answersText(after)}
      fault={answersFault(after)}
      busy={save.isPending}
      onSave={() => save.mutate({ before, after }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p className="muted">Less thinking and shorter answers cost less. It applies from the next call on.</p>
      {answerKinds.map((kind) => (
        <AnswerRow
          key={kind}
          kind={kind}
          fields={after[kind]}
          fleet={fleet[kind] ?? {}}
          onChange={(fields) => setAfter({ ...after, [kind]: fields })}
        />
      ))}
    </EditDialog>
  )
}

function AnswerRow({
  kind,
  fields,
  fleet,
  onChange,
}: {
  readonly kind: AnswerKind
  readonly fields: AnswerFields
  readonly fleet: Answer
  readonly onChange: (fields: AnswerFields) => void
}) {
  return (
    <fieldset className="ticks">
      <legend>{titles[kind]}</legend>
      <div className="form-row">
        <FormField label="Thinking">
          <select
            className="input wide"
            value={fields.thinking}
            onChange={(event) => onChange({ ...fields, thinking: readThinking(event.target.value) })}
          >
            <option value="">as all agents: {fleet.thinking ?? 'as the provider decides'}</option>
            {thinkingEfforts.map((effort) => (
              <option key={effort} value={effort}>
                {effort}
              </option>
            ))}
          </select>
        </FormField>
        <FormField label="Longest answer, in tokens">
          <input
            className="input wide number"
            type="number"
            min={answerLimits.outputTokensMin}
            max={answerLimits.outputTokensMax}
            placeholder={String(fleet.max_output_tokens ?? 'as the model allows')}
            value={fields.outputTokens}
            onChange={(event) => onChange({ ...fields, outputTokens: event.target.value })}
          />
        </FormField>
      </div>
    </fieldset>
  )
}

/** Saves each changed kind of run; the message above the page undoes all of them. */
function useSaveAnswers(agentId: string) {
  const { client, queries, toasts, proofs } = useServices()
  const write = async (from: AnswersFields, to: AnswersFields): Promise<void> => {
    try {
      for (const change of answerChanges(from, to)) {
        const body = { agent: agentId, ...change }
        await withProof(proofs, 'setupAnswersSet', () => client.call('setupAnswersSet', { body }))
      }
    } finally {
      void queries.invalidateQueries({ queryKey: ['setupAnswers'] })
    }
  }
  return useMutation({
    mutationFn: ({ before, after }: { readonly before: AnswersFields; readonly after: AnswersFields }) =>
      write(before, after),
    onSuccess: (_done, { before, after }) =>
      toasts.tell(`The answers of ${agentId} are changed, from the next call on.`, async () => {
        await write(after, before)
        return `The answers of ${agentId} are as they were.`
      }),
    onError: (error) => toasts.fail(error),
  })
}
