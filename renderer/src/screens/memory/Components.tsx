import { useTranslation } from 'react-i18next';
import type { ModelSnapshot } from '../../../../main/contract/runtime.ts';
import { Level } from '../../ui/Level.tsx';
import { useFormat } from '../../ui/studio-context.ts';

/** A model's components, one a row: how much of each lies where. */
export function Components({ model }: { model: ModelSnapshot }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: in a narrow window it scrolls, which must work by keyboard.
      tabIndex={0}
      aria-label={t('memory.components', { model: model.name })}
      className="mt-3 overflow-x-auto"
    >
      <table className="w-full min-w-md text-left text-xs">
        <thead className="text-ink-soft">
          <tr className="border-line border-b">
            <th scope="col" className="py-1 pr-4 font-normal">
              {t('memory.component')}
            </th>
            <th scope="col" className="w-2/5 py-1 pr-4 font-normal">
              {t('memory.onDevice')}
            </th>
            <th scope="col" className="py-1 pr-4 font-normal">
              {t('memory.units')}
            </th>
            <th scope="col" className="whitespace-nowrap py-1 pr-4 text-right font-normal">
              {t('memory.hostBytes')}
            </th>
            <th scope="col" className="whitespace-nowrap py-1 text-right font-normal">
              {t('memory.streamedBytes')}
            </th>
          </tr>
        </thead>
        <tbody>
          {model.components.map((component) => {
            const share = component.size_bytes === 0 ? 1 : component.loaded_bytes / component.size_bytes;
            const { part, whole } = format.bytesOf(component.loaded_bytes, component.size_bytes);
            const text = `${part} / ${whole}`;
            return (
              <tr key={component.name} data-testid="component" data-component={component.name}>
                <th scope="row" className="whitespace-nowrap py-1.5 pr-4 font-medium">
                  {component.name}
                  <span className="ml-2 font-normal text-ink-soft">
                    {t(`memory.kinds.${component.kind}`)}
                  </span>
                </th>
                <td className="py-1.5 pr-4">
                  <div className="flex items-center gap-3">
                    <div className="min-w-16 grow">
                      <Level
                        value={Math.min(1, share)}
                        label={t('memory.progressLabel', { model: component.name })}
                        text={text}
                      />
                    </div>
                    <span className="flex-none whitespace-nowrap">{text}</span>
                  </div>
                </td>
                <td className="whitespace-nowrap py-1.5 pr-4">
                  {t('memory.unitsOf', {
                    resident: format.number(component.units_resident),
                    units: format.number(component.units),
                  })}
                </td>
                <td className="whitespace-nowrap py-1.5 pr-4 text-right">
                  {format.bytes(component.host_bytes)}
                </td>
                <td className="whitespace-nowrap py-1.5 text-right">
                  {format.bytes(component.streamed_bytes)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
