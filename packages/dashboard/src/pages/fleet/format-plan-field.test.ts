import { describe, expect, it } from 'vitest'
import { permissionFields } from '@flotilla/protocol/permission-record'
import { agentSettingsSchema } from '../../../../foundation/src/config/agent-settings.ts'
import { formatPlanValue, planFieldTitle, planFieldValue } from './format-plan-field.ts'

describe('a field of the plan of a template', () => {
  it.each([
    ...agentSettingsSchema.keyof().options.map((name) => `settings.${name}`),
    ...Object.keys(permissionFields).map((name) => `permissions.${name}`),
    ...`role model instructions budget project heartbeat mcpServers agent schedule timezone enabled suppress_empty message
    tool_name tool_params when per_minute repeats signed tell goal criteria`.split(/\s+/),
  ])('%s has a title without the key of the file', (field) => {
    expect(planFieldTitle(field)).toMatch(/^[A-Z]/)
    expect(planFieldTitle(field)).not.toMatch(/[._]|mcpServers/)
  })

  it.each([
    ['permissions.can_use_browser', 'May: Use a browser', 'true', 'yes'],
    ['permissions.blackboard_read', 'May: Read the blackboard', '["*"]', 'all'],
    ['settings.hibernate_after_minutes', 'Hibernates after', '10', '10 minutes without work'],
    ['settings.data_limit_mb', 'Data below /data, at most', 'null', 'as the fleet has it'],
    ['settings.size', 'Size', '{"memory_mb":512,"cpus":0.5}', 'Memory, MB: 512\nProcessors: 0.5'],
    [
      'settings.answers',
      'Answers',
      '{"task":{"max_output_tokens":900}}',
      'in a task: tokens of one answer, at most 900',
    ],
    ['heartbeat', 'Heartbeat', 'every 30m', 'Every 30 minutes (every 30m)'],
    ['heartbeat', 'Heartbeat', 'off', 'off'],
    ['settings.harness', 'Driven by', '{"command":["my-agent","acp"]}', 'my-agent acp'],
    ['settings.harness', 'Driven by', 'codex', 'codex'],
    ['settings.harness', 'Driven by', 'null', 'its own loop'],
    ['message', 'Message to the agent', '', 'none'],
    ['schedule', 'Schedule', '0 7 * * *', 'At 07:00 (0 7 * * *)'],
    ['enabled', 'Switched on', 'false', 'no'],
    ['when', 'Only when', 'null', 'always'],
    ['repeats', 'A body that came before', 'refuse', 'is the same event'],
    ['tell', 'The agent learns of it', 'run', 'by a new run'],
    ['/data/shops.txt', 'File /data/shops.txt', '[as it is', '[as it is'],
    ['/data/skills/clean.js', 'Skill clean.js', 'true', 'true'],
    ['section Plan', 'Section “Plan”', 'null', 'null'],
    ['a_later_field', 'a later field', '["x"]', 'x'],
  ])('%s is called %s, and its value is readable', (...[field, title, text, value]) => {
    expect(planFieldTitle(field)).toBe(title)
    expect(planFieldValue(field, text)).toBe(value)
  })

  it.each([
    ['["llm","http"]', 'llm, http'],
    ['[]', 'none'],
    ['{}', 'none'],
    ['null', 'none'],
    ['{"daily_usd":1,"allowed":["a","b"],"x":{"y":true}}', 'daily usd: 1\nallowed: a, b\nx: y yes'],
    ['plain [text', 'plain [text'],
    ['[broken', '[broken'],
  ])('the value %s is readable', (text, shown) => {
    expect(formatPlanValue(text)).toBe(shown)
  })
})
