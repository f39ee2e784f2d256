import { useState } from 'react'
import { useServices } from '../data/use-mesh.ts'
import { Confirm } from '../design/confirm.tsx'
import { DiffView } from '../design/diff-view.tsx'
import { FormField } from '../design/form-field.tsx'
import { Markdown } from '../design/markdown.tsx'
import '../design/agent.css'
import { Badge, Bar, Card, Code, Dot, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'

const colors = [
  'page',
  'panel',
  'raised',
  'sunken',
  'hover',
  'line',
  'line-strong',
  'text',
  'muted',
  'accent',
  'accent-fill',
  'accent-soft',
  'ok',
  'busy',
  'warn',
  'bad',
  'chart-1',
  'chart-2',
  'chart-3',
  'chart-4',
  'chart-5',
  'chart-6',
] as const
const sizes = [1, 2, 3, 4, 5] as const
const spaces = [1, 2, 3, 4, 5, 6] as const
const tones = ['neutral', 'ok', 'busy', 'warn', 'bad'] as const

/** Shows the components of all pages, in the selected theme. */
export function DesignPage() {
  const { toasts } = useServices()
  const [asking, setAsking] = useState(false)
  return (
    <div className="page">
      <PageHead title="Design" />
      <Card title="Color">
        <ul className="body swatches">
          {colors.map((name) => (
            <li key={name} className="stack">
              <div className="swatch" style={{ background: `var(--${name})` }} />
              <span className="small mono">{name}</span>
            </li>
          ))}
        </ul>
      </Card>
      <div className="halves">
        <Card title="Type">
          <div className="body stack">
            {sizes.map((size) => (
              <div key={size} style={{ fontSize: `var(--text-${size})` }}>
                text-{size}: whatever makes an agent act is a run
              </div>
            ))}
            <span className="mono">mono: run_0123456789abcdef</span>
          </div>
        </Card>
        <Card title="Space">
          <div className="body stack">
            {spaces.map((size) => (
              <div key={size} className="row">
                <span className="small mono">space-{size}</span>
                <span
                  className="swatch"
                  style={{ width: `var(--space-${size})`, height: 14, background: 'var(--accent-fill)' }}
                />
              </div>
            ))}
          </div>
        </Card>
        <Card title="States">
          <div className="body stack">
            {tones.map((tone) => (
              <div key={tone} className="row">
                <Dot tone={tone} />
                <Badge tone={tone}>{tone}</Badge>
              </div>
            ))}
            <Bar part={0.4} label="Two fifths" />
            <Bar part={0.85} label="Nearly all" />
            <Bar part={1} label="All" />
          </div>
        </Card>
        <Card title="Buttons and fields">
          <div className="body stack">
            <div className="row">
              <button
                type="button"
                className="button primary"
                onClick={() => toasts.tell('This is a message.')}
              >
                Primary
              </button>
              <button
                type="button"
                className="button"
                onClick={() => toasts.tell('This can be taken back.', async () => 'It was taken back.')}
              >
                Plain
              </button>
              <button type="button" className="button quiet">
                Quiet
              </button>
              <button type="button" className="button" disabled>
                Disabled
              </button>
              <button type="button" className="button danger" onClick={() => setAsking(true)}>
                Danger
              </button>
            </div>
            <FormField label="A field" hint="What it is for, where that helps.">
              <input className="input wide" placeholder="The text in the field" />
            </FormField>
            <select className="input" aria-label="A choice">
              <option>A choice</option>
            </select>
          </div>
        </Card>
        <Card title="A difference">
          <div className="body">
            <DiffView before={'one\ntwo\nthree'} after={'one\n2\nthree'} label="A difference of two texts" />
          </div>
        </Card>
        <Card title="Waiting">
          <Loading />
        </Card>
        <Card title="Nothing there">
          <Empty title="What is not there yet">How it comes about, in a sentence.</Empty>
        </Card>
      </div>
      <Failed error={new Error('This line says what went wrong, the line below what to do.')} />
      <Card title="Text of agents">
        <div className="body stack">
          <Markdown
            text={
              'Agents write **markdown**: lists, `code` and tables.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n- one\n- two\n\n```ts\nconst answer = 42\n```'
            }
          />
          <Code value={{ path: 'notes.md', lines: 3 }} label="Arguments" />
        </div>
      </Card>
      {asking && (
        <Confirm
          title="What cannot be taken back?"
          action="Do it"
          busy={false}
          onClose={() => setAsking(false)}
          onConfirm={() => setAsking(false)}
        >
          It is asked once more. Nothing happens here.
        </Confirm>
      )}
    </div>
  )
}
