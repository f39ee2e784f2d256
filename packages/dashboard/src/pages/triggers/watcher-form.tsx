import { useState } from 'react'
import type { WatcherFields } from '@flotilla/protocol/watch-api'
import { useAction, useServices } from '../../data/use-mesh.ts'
import { useWorkingAgents } from '../../data/use-working-agents.ts'
import { EditDialog } from '../../design/edit-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'
import { AgentChoice, OnlyWhen, ToldWords } from './trigger-fields.tsx'

const stale = ['watchers'] as const

/** Adds or edits a file watcher and shows the difference; the mesh requires the owner's proof. */
export function WatcherForm({
  watcher,
  onClose,
}: {
  /** Null for a new watcher. */
  readonly watcher: WatcherFields | null
  readonly onClose: () => void
}) {
  const { client } = useServices()
  const agents = useWorkingAgents('watcherChange')
  // The watcher when the form was opened; later edits of the file do not alter it.
  const [before] = useState(watcher)
  const [fields, setFields] = useState<WatcherFields>(
    before ?? { path: '', pattern: '*', agent: '', message: '', when: null },
  )
  const agent = fields.agent === '' ? (agents?.[0] ?? '') : fields.agent
  const when = fields.when === null || fields.when.trim() === '' ? null : fields.when.trim()
  const after: WatcherFields = { ...fields, path: fields.path.trim(), agent, when }
  const fault = faultOf(after)
  const change = (part: Partial<WatcherFields>) => setFields({ ...fields, ...part })
  const send = useAction('watcherChange', {
    done: before === null ? `${after.path} is watched.` : 'The watcher is changed.',
    stale,
    undo: () => ({
      by: 'watcherChange',
      run: () => client.call('watcherChange', { body: { before: after, after: before } }),
      done: before === null ? 'The folder is no longer watched.' : 'The change of the watcher is undone.',
    }),
  })
  return (
    <EditDialog
      title={before === null ? 'A new watched folder' : `Watched folder ${before.path}`}
      before={before === null ? '' : watcherText(before)}
      after={watcherText(after)}
      fault={fault}
      isIncomplete={after.path === '' || fault === lacksMessage}
      busy={send.isPending}
      onSave={() => send.mutate({ body: { before, after } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <div className="form-row">
        <FormField label="Folder" hint="An absolute path on the machine of the mesh.">
          <input
            className="input wide mono"
            maxLength={4096}
            placeholder="/srv/inbox"
            spellCheck={false}
            value={fields.path}
            onChange={(event) => change({ path: event.target.value })}
          />
        </FormField>
        <FormField label="Names" hint="Such as *.csv.">
          <input
            className="input wide mono"
            maxLength={255}
            spellCheck={false}
            value={fields.pattern}
            onChange={(event) => change({ pattern: event.target.value })}
          />
        </FormField>
        <AgentChoice agents={agents ?? []} value={agent} onChange={(value) => change({ agent: value })} />
      </div>
      <ToldWords
        hint={
          <>
            <code>&#123;filename&#125;</code> and <code>&#123;filepath&#125;</code> stand for the file.
          </>
        }
        value={fields.message}
        maxLength={10_000}
        onChange={(message) => change({ message })}
      />
      <OnlyWhen
        hint="Such as size_bytes > 0; empty for each file that is new or changed."
        value={fields.when ?? ''}
        maxLength={1000}
        onChange={(next) => change({ when: next })}
      />
    </EditDialog>
  )
}

const lacksMessage = 'Enter what the agent shall do with a file.'

function faultOf({ path, pattern, agent, message }: WatcherFields): string | null {
  if (!path.startsWith('/')) return 'Enter an absolute path, such as /srv/inbox.'
  if (pattern === '' || pattern.includes('/'))
    return 'Enter a pattern of file names in the folder, without a slash.'
  if (agent === '') return 'There is no agent to notify.'
  return message.trim() === '' ? lacksMessage : null
}

/** Formats one field a line, for a readable difference. Pure. */
function watcherText({ path, pattern, agent, message, when }: WatcherFields): string {
  return [
    `folder: ${path}`,
    `names: ${pattern}`,
    `agent: ${agent}`,
    `only when: ${when ?? 'always'}`,
    `says: ${message.trim()}`,
  ].join('\n')
}
