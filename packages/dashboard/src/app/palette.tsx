import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider } from '@ariakit/react/combobox'
import { Dialog } from '@ariakit/react/dialog'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMesh } from '../data/use-mesh.ts'
import { titleOfRun } from '../pages/describe-run-input.ts'
import { settingsParts } from '../pages/settings/settings-parts.ts'
import { menu } from './menu.ts'
import { applyTheme, themes } from '../design/theme.ts'
import type { Theme } from '../design/theme.ts'

/** How many of the newest tasks and runs are searched. */
const listedMax = 100
const foundMax = 50
/** The longest part of a run's question that is shown, in characters. */
const wordsMaxChars = 100

interface Entry {
  readonly words: string
  readonly kind: string
  /** The address of the entry, and its key. */
  readonly path: string
  /** The theme that the entry applies, if it leads nowhere. */
  readonly theme?: Theme
}

/** Opens any page, agent, setting, task or run by a few letters of its name, and does what many pages offer. */
export function Palette({ close }: { readonly close: () => void }) {
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const status = useMesh('status')
  const agents: readonly Entry[] = (status.data?.agents ?? []).flatMap(({ id }) => [
    { words: id, kind: 'agent', path: `/agents/${id}` },
    { words: `Chat with ${id}`, kind: 'chat', path: `/chat/${id}` },
  ])
  const parts: readonly Entry[] = settingsParts.map(({ id, title }) => ({
    words: title,
    kind: 'setting',
    path: `/settings/${id}`,
  }))
  const tasks: readonly Entry[] = (useMesh('tasks', { query: { limit: listedMax } }).data?.tasks ?? []).map(
    ({ id, title }) => ({
      words: title,
      kind: 'task',
      path: `/work/tasks/${id}`,
    }),
  )
  const runs: readonly Entry[] = (useMesh('runs', { query: { limit: listedMax } }).data?.runs ?? []).map(
    (run) => ({
      words: `${titleOfRun(run).slice(0, wordsMaxChars)} · ${run.agent_id}`,
      kind: 'run',
      path: `/runs/${run.id}`,
    }),
  )
  const pages: readonly Entry[] = menu.map(({ path, title }) => ({
    words: title,
    kind: 'page',
    path,
  }))
  const actions: readonly Entry[] = [
    { words: 'New agent', kind: 'action', path: '/fleet?new=agent' },
    { words: 'New job', kind: 'action', path: '/triggers?new=job' },
    { words: 'New webhook', kind: 'action', path: '/triggers?new=webhook' },
    ...themes.map((theme) => ({ words: `Theme: ${theme}`, kind: 'action', theme, path: `theme ${theme}` })),
  ]
  // Tasks and runs appear only for typed words, so that the list begins with what a person looks for most.
  const more = text.trim() === '' ? [] : [...tasks, ...runs]
  const found = [...pages, ...actions, ...agents, ...parts, ...more]
    .filter(({ words: label, kind, path }) =>
      // Tasks and runs are also found by their ids.
      `${label} ${kind === 'task' || kind === 'run' ? path : ''}`
        .toLowerCase()
        .includes(text.trim().toLowerCase()),
    )
    .slice(0, foundMax)
  return (
    <Dialog
      open
      onClose={close}
      aria-label="Go to"
      className="dialog palette"
      backdrop={<div className="veil" />}
    >
      <ComboboxProvider setValue={setText} open>
        <Combobox
          autoSelect="always"
          className="input"
          placeholder="A page, agent, setting, task, run or action"
          aria-label="Page or agent"
          autoFocus
        />
        <ComboboxList aria-label="Found" alwaysVisible>
          {found.map(({ path, words: label, kind, theme }) => (
            <ComboboxItem
              key={path}
              className="palette-item"
              value={label}
              hideOnClick={false}
              setValueOnClick={false}
              onClick={() => {
                close()
                if (theme === undefined) go(path)
                else applyTheme(theme)
              }}
            >
              <span className="clip">{label}</span>
              <span className="small muted">{kind}</span>
            </ComboboxItem>
          ))}
        </ComboboxList>
        {found.length === 0 && <p className="muted">Nothing has this name.</p>}
      </ComboboxProvider>
    </Dialog>
  )
}
