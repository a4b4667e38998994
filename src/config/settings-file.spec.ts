import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { readSettingsFile, SettingsFileError } from './settings-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'settings-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, 'settings.json');

function faultOf(content: string | Buffer, schema: z.ZodType = z.any()): string {
  writeFileSync(path, content);
  try {
    readSettingsFile(path, schema);
  } catch (error) {
    if (error instanceof SettingsFileError) return error.message;
    throw error;
  }
  return '';
}

describe('G1 a settings file', () => {
  it.each([
    ['nothing', '', 'where it ends (line 1, column 1) there must be a value'],
    [
      'a comma at the end of a list',
      '{\n  "a": [1,\n  2,\n  ]\n}',
      'at line 4, column 3 there must be a value',
    ],
    ['a missing end', '{"é€😀": 1', 'where it ends (line 1, column 10) there must be `,` or `}`'],
  ])('with %s is told by its path, line and column', (_, content, fault) => {
    expect(faultOf(content)).toBe(`must be the path of a usable file: the file is no JSON: ${fault}`);
  });

  it('with a repeated key, another encoding or too many levels is told by its path', () => {
    expect(faultOf('{"a":[{"b":1,"b":2}]}')).toBe(`must be the path of a usable file: /a/0/b is there twice`);
    expect(faultOf(Buffer.from([0x22, 0xff, 0x22]))).toBe(
      `must be the path of a usable file: the file is not UTF-8 text`,
    );
    expect(faultOf('['.repeat(100))).toBe(
      `must be the path of a usable file: values are nested deeper than 16 levels`,
    );
  });

  it('with a key or a text of another form is told by the rule for it', () => {
    const schema = z.record(
      z.string().regex(/^[a-z]+$/, { error: 'an alias must be small letters' }),
      z.any(),
    );
    expect(faultOf('{"A!":1}', schema)).toBe(
      'must be the path of a usable file: A!: an alias must be small letters',
    );
  });

  it('that is missing, a folder or closed to this process is told as that', () => {
    const read = (of: string) => () => readSettingsFile(of, z.any());
    expect(read(join(folder, 'none'))).toThrow(
      `must be the path of a usable file: there is no such file (the working directory is ${process.cwd()})`,
    );
    expect(read(folder)).toThrow(`must be the path of a usable file: this is a folder, not a file`);
    writeFileSync(path, '{}');
    chmodSync(path, 0);
    // Root may read everything.
    if (process.getuid?.() !== 0)
      expect(read(path)).toThrow(`must be the path of a usable file: this process may not read the file`);
    chmodSync(path, 0o600);
  });

  it('whose content stands in place of its path is told as that, and none of it is shown', () => {
    const secret = randomBytes(12).toString('hex');
    for (const content of [`{"default":{"username":"u","password":"${secret}"}}`, `\n[ "${secret}" ]`]) {
      const read = () => readSettingsFile(content, z.any());
      expect(read).toThrow(
        'must be the path of a usable file: the value is the content of a file, not its path',
      );
      expect(read).not.toThrow(secret);
    }
  });

  it('is told without its path, which may hold a password by mistake', () => {
    const secret = randomBytes(12).toString('hex');
    expect(() => readSettingsFile(join(folder, secret), z.any())).not.toThrow(secret);
  });

  it('that breaks a rule is told by the field, and by the name of its entry', () => {
    const schema = z.object({ items: z.array(z.object({ name: z.string(), size: z.number() })) });
    writeFileSync(path, '{"items":[{"name":"a","size":1},{"name":"b","size":"x"}]}');
    const read = () => readSettingsFile(path, schema, () => 'b');
    expect(read).toThrow(
      `must be the path of a usable file: items[1].size of "b": Invalid input: expected number, received string`,
    );
    expect(faultOf('[]', schema)).toContain(': the whole file: ');
  });

  it('is read as JSON.parse does, also behind a byte order mark', () => {
    writeFileSync(path, '\ufeff{"a":1.5,"b":1e3}');
    expect(readSettingsFile(path, z.any())).toEqual({ a: 1.5, b: 1_000 });
  });

  it('is refused without repeating what is in it, wherever it is damaged', () => {
    const secret = randomBytes(12).toString('hex');
    const whole = JSON.stringify({ a: [{ password: secret }, { b: [secret, true, null, -1.5e3] }] }, null, 2);
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.constantFrom('', ',', '"', '}', ']', ':', 'x', '\\'),
        (at, put) => {
          const damaged = whole.slice(0, at) + put + whole.slice(at + 1);
          let refused = false;
          try {
            JSON.parse(damaged);
          } catch {
            refused = true;
          }
          const fault = faultOf(damaged);
          expect(fault.replace(/^.*is there twice$/, '') !== '').toBe(refused);
          expect(fault).not.toContain(secret.slice(0, 6));
          if (refused) expect(fault).toMatch(/\bline \d+, column \d+\b/);
        },
      ),
    );
  });
});
