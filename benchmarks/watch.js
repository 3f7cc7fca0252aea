// Watches every chart of the page frame by frame; the picture is new when what one of them is drawn from has changed.
() => {
    const charts = () => [...document.querySelectorAll(".js-plotly-plot")];
    const said = () => JSON.stringify(charts().map(it => [it.data, it.layout.shapes, it.layout.annotations]));
    const w = window.watch = { blank: 0, took: null, pressed: null, changed: null };
    let parts = [], before = said();
    addEventListener("keydown", () => { w.pressed = w.changed = performance.now(); w.took = null; }, true);
    const seen = ({ target }) => !(target.closest ? target : target.parentElement)?.closest(".live-figure-numbers, .announced");
    const texts = new MutationObserver((changes) => { if (changes.some(seen)) w.changed = performance.now(); });
    const main = document.querySelector("[data-testid=stMain]");
    texts.observe(main, { subtree: true, childList: true, characterData: true });
    const frame = () => {
        const all = charts(), now = all.flatMap(it => [it, it.data, it.layout]);
        if (!all[0]?.querySelector(".main-svg") || !all[0].clientHeight) w.blank++;
        else if (now.length !== parts.length || now.some((part, k) => part !== parts[k])) {
            parts = now;
            const shown = said();
            if (shown !== before && w.pressed !== null && w.took === null) w.took = performance.now() - w.pressed;
            before = shown;
        }
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}
