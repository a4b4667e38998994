import { type Variable, variables } from '../src/config/variables.ts';

/** Returns the text of `config/.env.example`: every variable with its meaning and default. Only required variables are uncommented. */
export function envExample(): string {
  const blocks = Object.entries<Variable>(variables).map(([name, variable]) => {
    const absent = variable.schema.safeParse(undefined);
    const fallback = absent.success && isPrintable(absent.data) ? String(absent.data) : '';
    const assignment = absent.success ? `#${name}=${fallback}` : `${name}=${variable.example ?? ''}`;
    const file = variable.secret ? ` Or ${name}_FILE: a path.` : '';
    return `# ${variable.meaning}.${file}\n${assignment}\n`;
  });
  return `# Generated from src/config/variables.ts by \`npm run generate\`.\n\n${blocks.join('\n')}`;
}

function isPrintable(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}
