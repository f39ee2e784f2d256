import { useState } from 'react'
import { useMesh } from '../../data/use-mesh.ts'
import { FormField } from '../../design/form-field.tsx'
import { describeModel } from './describe-model.ts'

/** The value of the choice that lets a person type the name of a model. No model has this name. */
const another = 'another model'

/** The model of an agent: one that the fleet knows, with price and context, or any other by its name. */
export function ModelChoice({
  value,
  onChange,
}: {
  /** Empty means the fleet's default. */
  readonly value: string
  readonly onChange: (model: string) => void
}) {
  const status = useMesh('status')
  const models = useMesh('models')
  const known = models.data?.models ?? []
  const [types, setTypes] = useState(false)
  const isUnlisted = value !== '' && models.isSuccess && !known.some(({ id }) => id === value)
  const isTyped = types || isUnlisted
  const chosen = known.find(({ id }) => id === value)
  const usual = status.data?.default_model?.name ?? 'which is not set'
  return (
    <>
      <FormField label="Model" hint={chosen?.problem ?? undefined}>
        <select
          className="input wide"
          value={isTyped ? another : value}
          onChange={(event) => {
            const next = event.target.value
            setTypes(next === another)
            onChange(next === another ? '' : next)
          }}
        >
          <option value="">The fleet’s default, {usual}</option>
          {known.map((model) => (
            <option key={model.id} value={model.id}>
              {describeModel(model)}
            </option>
          ))}
          <option value={another}>Another model …</option>
        </select>
      </FormField>
      {isTyped && (
        <FormField label="Name of the model" hint="With its provider, such as openai/gpt-5-mini.">
          <input
            className="input wide mono"
            maxLength={200}
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        </FormField>
      )}
    </>
  )
}
