import { useState } from 'react'
import type { ProjectView } from '@flotilla/protocol/project-api'
import { projectLimits } from '@flotilla/protocol/project-limits'
import { useAction } from '../../data/use-mesh.ts'
import { FormDialog } from '../../design/form-dialog.tsx'
import { FormField } from '../../design/form-field.tsx'

/**
 * Writes the goal (`section` null) or one section. The mesh rejects the text if another person has written since the
 * dialog opened. An empty section name creates a section.
 */
export function ProjectText({
  project,
  section,
  close,
}: {
  readonly project: ProjectView
  readonly section: string | null
  readonly close: () => void
}) {
  const [read] = useState(() => ({
    text: section === null ? project.goal : textOf(project, section),
    version: section === null ? project.goal_version : versionOf(project, section),
  }))
  const [name, setName] = useState(section ?? '')
  const [text, setText] = useState(read.text)
  const [criteria, setCriteria] = useState(project.criteria.join('\n'))
  const write = useAction('projectWrite', { stale: ['project', 'projects'] })
  const isGoal = section === null
  return (
    <FormDialog
      title={isGoal ? `Goal of ${project.name}` : section === '' ? 'New section' : section}
      words={
        isGoal
          ? 'Members read the goal before they work.'
          : 'Members can read the section. An empty text removes it.'
      }
      action="Write"
      busy={write.isPending || (!isGoal && name.trim() === '')}
      onClose={close}
      onSend={() =>
        write.mutate(
          {
            params: { name: project.name },
            body: {
              text,
              expected_version: read.version,
              ...(isGoal ? { criteria: linesOf(criteria) } : { section: name.trim() }),
            },
          },
          { onSuccess: close },
        )
      }
    >
      {section === '' && (
        <FormField label="Name">
          <input
            className="input"
            required
            maxLength={64}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </FormField>
      )}
      <FormField label={isGoal ? 'Goal' : 'Text (markdown)'}>
        <textarea
          className="input"
          rows={isGoal ? 4 : 12}
          maxLength={isGoal ? projectLimits.goalMaxChars : projectLimits.sectionMaxChars}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </FormField>
      {isGoal && (
        <FormField label={`Criteria for reaching the goal, one a line, at most ${projectLimits.criteriaMax}`}>
          <textarea
            className="input"
            rows={4}
            value={criteria}
            onChange={(event) => setCriteria(event.target.value)}
          />
        </FormField>
      )}
    </FormDialog>
  )
}

function textOf({ sections }: ProjectView, name: string): string {
  return sections.find((one) => one.name === name)?.text ?? ''
}

function versionOf({ sections }: ProjectView, name: string): number {
  return sections.find((one) => one.name === name)?.version ?? 0
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
